// SPDX-License-Identifier: MIT
//
// switch_code.h - code of an ELF file that switches stacks, whatever it is called.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct switch_code {
	uint64_t at;     // from the first byte that the loader maps: where the stack pointer is stored
	uint64_t offset; // in the file
};

// Finds at most `most`: their number. None in a file of another CPU, or that cannot be read. Leaves fd open.
size_t switch_code_read(int fd, struct switch_code *out, size_t most);
