// SPDX-License-Identifier: MIT
//
// One lazy resolver per row of hooks.def: real_<name> starts here. It keeps
// every register that can hold an argument, asks real_resolve (real.c) for the
// function as the caller would see it, and jumps to it. None of the hooked functions
// takes floating-point arguments.
#include "asm.h"

	.set row, 0
#define HOOK(name) \
	HIDDEN(resolve_##name) \
	.cfi_startproc; \
	LANDING; \
	mov w16, row; \
	.set row, row + 1; \
	b resolve; \
	.cfi_endproc; \
	END(resolve_##name);
#include "preload/guest/hooks.def"

	.type resolve, %function
resolve:
	.cfi_startproc
	stp x8, x30, [sp, -80]!
	.cfi_adjust_cfa_offset 80
	.cfi_rel_offset x30, 8
	stp x0, x1, [sp, 16]
	stp x2, x3, [sp, 32]
	stp x4, x5, [sp, 48]
	stp x6, x7, [sp, 64]
	mov w0, w16
	mov x1, x30
	bl real_resolve
	mov x16, x0
	ldp x6, x7, [sp, 64]
	ldp x4, x5, [sp, 48]
	ldp x2, x3, [sp, 32]
	ldp x0, x1, [sp, 16]
	ldp x8, x30, [sp], 80
	.cfi_adjust_cfa_offset -80
	.cfi_restore x30
	br x16
	.cfi_endproc
	END(resolve)
