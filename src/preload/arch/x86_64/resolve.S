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
	PUSH rax, rdi, rsi, rdx, rcx, r8, r9 // seven words and the return address: aligned
	movl %r11d, %edi
	movq 56(%rsp), %rsi
	call real_resolve
	movq %rax, %r11
	POP r9, r8, rcx, rdx, rsi, rdi, rax
	jmp *%r11
	.cfi_endproc
	END(resolve)

	.section .note.GNU-stack, "", @progbits
