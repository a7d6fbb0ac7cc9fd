// SPDX-License-Identifier: MIT
//
// say.h - the only lines that libctp.so writes, to the program's stderr.
#pragma once

// "ctp: WHAT[: WHY]; the program runs untraced". why: may be NULL.
void say_untraced(const char *what, const char *why);
