// SPDX-License-Identifier: MIT
//
// dwarf.h - aarch64: what a walk must know of the CPU: DWARF's numbers of the
// registers (AAPCS64's DWARF supplement), and how frames are laid out.
#pragma once

#include <stdint.h>

enum {
	DWARF_FP = 29, // x29
	DWARF_SP = 31,
	DWARF_RA = 30, // x30, the link register
	DWARF_OP_BREG_FP = 0x70 + DWARF_FP,
};

// A frame's record (x29 and x30 of the caller) lies at its bottom: above it are
// locals of unknown size, so the record alone does not tell the CFA.
enum { DWARF_RECORD_ENDS_FRAME = 0 };

// The address that a stored return address means: it may be signed (PAC).
static inline uint64_t dwarf_return_address(uint64_t word)
{
	register uint64_t lr __asm__("x30") = word;
	__asm__("hint 7" : "+r"(lr)); // xpaclri: nothing on CPUs that do not sign
	return lr;
}
