// SPDX-License-Identifier: MIT
//
// dwarf.h - x86_64: DWARF's numbers of the registers that a walk needs (System V
// psABI, figure 3.36).
#pragma once

enum {
	DWARF_FP = 6,  // rbp
	DWARF_SP = 7,  // rsp
	DWARF_RA = 16, // the return address
	DWARF_OP_BREG_FP = 0x70 + DWARF_FP,
};
