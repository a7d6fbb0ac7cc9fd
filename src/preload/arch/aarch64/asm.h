// SPDX-License-Identifier: MIT
//
// asm.h - aarch64: the little that every assembly file needs.
#pragma once

#include "preload/coroutine/thread_ctx.h"

#define EXPORTED(name) .globl name; .type name, %function; name:
#define HIDDEN(name) .globl name; .hidden name; .type name, %function; name:
#define END(name) .size name, . - name
#define LANDING hint 34 // bti c: nothing on CPUs that do not know it

	.section .note.GNU-stack, "", %progbits
#ifdef __ARM_FEATURE_BTI_DEFAULT
	.section .note.gnu.property, "a", %note
	.p2align 3
	.word 4, 16, 5			// name, contents, NT_GNU_PROPERTY_TYPE_0
	.asciz "GNU"
	.word 0xc0000000, 4, 1, 0	// GNU_PROPERTY_AARCH64_FEATURE_1_AND: BTI
#endif
	.text
