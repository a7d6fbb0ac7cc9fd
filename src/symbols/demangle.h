// SPDX-License-Identifier: MIT
//
// demangle.h - C++ names as their authors wrote them.
#pragma once

// A new string: the demangled name, or a copy of what is not mangled. NULL
// without memory.
char *demangle(const char *name);
