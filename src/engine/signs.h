// SPDX-License-Identifier: MIT
//
// signs.h - what one ELF file says about the ways in which it switches stacks.
#pragma once

#include <stddef.h>

struct signs {
	unsigned imports; // bit i: the function i below, which libctp.so stands before
	unsigned copies;  // bit i: it has that function itself, where nothing can stand before it
	unsigned known;   // bit i: the runtime i below, whose switch is no call of a shared function
};

// 0, 1: no ELF file, or -errno: damaged, or too large to be looked at. Leaves fd open.
int signs_read(struct signs *out, int fd);

// What is looked for. NULL: no such row.
const char *signs_function(unsigned i);
const char *signs_symbol(unsigned i); // of the runtime i
const char *signs_runtime(unsigned i); // what it is
