// SPDX-License-Identifier: MIT
//
// asm.h - x86_64: the little that every assembly file needs.
// clang-format off
#pragma once

#include "preload/coroutine/thread_ctx.h"

// Where a ucontext_t keeps rsp and the address of its floating-point state (asserted in context.h).
#define CONTEXT_SP 160
#define CONTEXT_FPREGS 224

// Where glibc's jmp_buf keeps rsp, and how: xored with the guard in %fs, rotated left
// (asserted in context.h).
#define JMPBUF_SP 48
#define JMPBUF_ROTATE 17
#define JMPBUF_GUARD 0x30

#define EXPORTED(name) .globl name; .type name, @function; name:
#define HIDDEN(name) .globl name; .hidden name; .type name, @function; name:
#define END(name) .size name, . - name

// One instruction for each register, in this order, and what the unwinder must know of it.
.macro PUSH regs:vararg
	.irp reg, \regs
	pushq %\reg
	.cfi_adjust_cfa_offset 8
	.endr
.endm
.macro POP regs:vararg
	.irp reg, \regs
	popq %\reg
	.cfi_adjust_cfa_offset -8
	.endr
.endm
