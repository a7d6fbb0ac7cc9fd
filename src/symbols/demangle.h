// SPDX-License-Identifier: MIT
//
// demangle.h - demangled C++ names.
#pragma once

// A new string: the demangled name, or a copy of what is not mangled. NULL
// without memory.
char *demangle(const char *name);
