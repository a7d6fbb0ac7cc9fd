// SPDX-License-Identifier: MIT
//
// switch_signatures.h - the ways to switch stacks that one ELF file shows.
#pragma once

#include <stddef.h>

struct switch_signatures {
	unsigned imports; // bit i: the function i below, which libctp.so stands before
	unsigned copies;  // bit i: it has that function itself, where nothing can stand before it
	unsigned exports; // bit i: it has that function, for others to call, before which libctp.so stands
	unsigned known;   // bit i: the runtime i below, whose switch is no call of a shared function
};

// 0, 1: no ELF file, or -errno: damaged, or too large to be looked at. Leaves fd open.
int switch_signatures_read(struct switch_signatures *out, int fd);

// What is looked for. NULL: no such row.
const char *switch_signatures_function(unsigned i);
const char *switch_signatures_symbol(unsigned i);  // of the runtime i
const char *switch_signatures_runtime(unsigned i); // what it is
// Those runtimes whose switch function is one that libctp.so patches where it knows its code, a bit each.
unsigned switch_signatures_patchable(void);
