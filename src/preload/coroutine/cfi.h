// SPDX-License-Identifier: MIT
//
// cfi.h - how to step from one frame to its caller, from .eh_frame.
#pragma once

#include "preload/guest/guest.h"

enum cfa_from { CFA_NONE = 0, CFA_SP, CFA_FP, CFA_AT_FP }; // CFA = sp + n, fp + n, *(fp + n)
enum fp_rule {
	FP_SAME = 0,
	FP_AT_CFA,
	FP_AT_FP,
	FP_LOST
}; // caller's fp: unchanged, *(CFA + n), *(fp + n), unknown

// What a return address needs to be stepped over. The caller's lies at CFA + ra_off:
// who has called has saved it, also where the call leaves it in a register.
struct recipe {
	int32_t cfa_off, fp_off, ra_off;
	uint8_t cfa : 3;  // enum cfa_from; CFA_NONE: see the flags
	uint8_t fp : 3;   // enum fp_rule
	uint8_t end : 1;  // return address undefined: the outermost frame
	uint8_t bare : 1; // no usable CFI
	uint8_t known;    // object found
};

// The recipe for the frame that goes on at `pc` (a return address).
struct recipe cfi_recipe(uint64_t pc);
