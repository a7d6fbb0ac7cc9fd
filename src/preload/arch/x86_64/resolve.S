// SPDX-License-Identifier: MIT
//
// One lazy resolver per row of hooks.def: real_<name> starts here. It keeps
// every register that can hold an argument, asks real_resolve (real.c) for the
// function as the caller would see it, and jumps to it. None of the hooked functions
// takes floating-point arguments.
#include "asm.h"

	.text
	.set row, 0
#define HOOK(name) \
	HIDDEN(resolve_##name) \
	.cfi_startproc; \
	endbr64; \
	movl $row, %r11d; \
	.set row, row + 1; \
	jmp resolve; \
	.cfi_endproc; \
	END(resolve_##name);
#include "preload/guest/hooks.def"

	.type resolve, @function
resolve:
	.cfi_startproc
	pushq %rax
	.cfi_adjust_cfa_offset 8
	pushq %rdi
	.cfi_adjust_cfa_offset 8
	pushq %rsi
	.cfi_adjust_cfa_offset 8
	pushq %rdx
	.cfi_adjust_cfa_offset 8
	pushq %rcx
	.cfi_adjust_cfa_offset 8
	pushq %r8
	.cfi_adjust_cfa_offset 8
	pushq %r9			// seven words and the return address: aligned
	.cfi_adjust_cfa_offset 8
	movl %r11d, %edi
	movq 56(%rsp), %rsi
	call real_resolve
	movq %rax, %r11
	popq %r9
	.cfi_adjust_cfa_offset -8
	popq %r8
	.cfi_adjust_cfa_offset -8
	popq %rcx
	.cfi_adjust_cfa_offset -8
	popq %rdx
	.cfi_adjust_cfa_offset -8
	popq %rsi
	.cfi_adjust_cfa_offset -8
	popq %rdi
	.cfi_adjust_cfa_offset -8
	popq %rax
	.cfi_adjust_cfa_offset -8
	jmp *%r11
	.cfi_endproc
	END(resolve)

	.section .note.GNU-stack, "", @progbits
