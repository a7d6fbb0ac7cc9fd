// SPDX-License-Identifier: MIT
//
// dwarf.h - x86_64: what a walk must know of the CPU: DWARF's numbers of the
// registers (System V psABI, figure 3.36), and how frames are laid out.
#pragma once

#include <stdint.h>

enum {
	DWARF_FP = 6,  // rbp
	DWARF_SP = 7,  // rsp
	DWARF_RA = 16, // the return address
	DWARF_OP_BREG_FP = 0x70 + DWARF_FP,
};

// The saved rbp and the return address end a frame: above them is its caller's.
enum { DWARF_RECORD_ENDS_FRAME = 1 };

// The address that a stored return address means.
static inline uint64_t dwarf_return_address(uint64_t word)
{
	return word;
}
