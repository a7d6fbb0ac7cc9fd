// SPDX-License-Identifier: MIT
//
// symbol.h - where a function of a mapped library is, in another process.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// The address of `name` in the first mapped file of pid whose name, without its folder, begins with `file`;
// or, where `file` is an absolute path, in the file that this is. 0: no such file is mapped, or it exports no
// such function.
uint64_t symbol_address(pid_t pid, const char *file, const char *name);
// Is such a file mapped?
bool symbol_mapped(pid_t pid, const char *file);
