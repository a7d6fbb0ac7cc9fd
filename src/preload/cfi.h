// SPDX-License-Identifier: MIT
//
// cfi.h - how to step from one frame to its caller, from .eh_frame.
#pragma once

#include "guest.h"

enum cfa_from { CFA_NONE = 0, CFA_SP, CFA_FP, CFA_AT_FP }; // CFA = sp + n, fp + n, *(fp + n)
enum fp_rule { FP_SAME = 0, FP_AT_CFA, FP_AT_FP, FP_LOST }; // caller's fp: unchanged, *(CFA + n), *(fp + n), unknown

// What a return address needs to be stepped over; packed into one word.
struct recipe {
	int32_t cfa_off;
	int16_t fp_off;
	uint8_t cfa : 3; // enum cfa_from; CFA_NONE: see the flags
	uint8_t fp : 3;  // enum fp_rule
	uint8_t end : 1; // rip undefined: the outermost frame
	uint8_t bare : 1; // no usable CFI
	uint8_t known;   // object found
};
_Static_assert(sizeof(struct recipe) == 8, "recipe");

// The recipe for the frame that goes on at `pc` (a return address).
struct recipe cfi_recipe(uint64_t pc);
