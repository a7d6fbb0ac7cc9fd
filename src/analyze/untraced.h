// SPDX-License-Identifier: MIT
//
// untraced.h - what ctp-ps --save wrote of a program that ctp-run had not started.
#pragma once

// Says on stdout what can be said of it, and does not return. -errno: it is none, or ctp-ps cannot be run.
int untraced_report(const char *folder);
