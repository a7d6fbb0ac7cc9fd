// SPDX-License-Identifier: MIT
//
// private_stack.h - x86_64: what all trampolines are made of: the thread context and its guard, and the way
// to the thread's private stack.
// The private stack's frame, from its top down (struct arguments in context.h):
//	-8   the program's rsp (points to the return address)
//	-16  unused
//	-24 rdi  -32 rsi  -40 rdx  -48 rcx  -56 r8  -64 r9  -72 rax  -80 the thread context
// It lies on the private stack, not in the thread context, and r11 is read back from it.
#pragma once
// clang-format off

#define SAVED_SP 72
#define SAVED_RDI 56
#define SAVED_RSI 48
#define SAVED_RDX 40
#define SAVED_RCX 32
#define SAVED_R8 24
#define SAVED_R9 16
#define SAVED_RAX 8
#define SAVED_AREA 0

// r11 = this thread's context, r10 where that stands in %fs; jumps to `none` if there is none.
.macro SELF none
	movq ctp_self@gottpoff(%rip), %r10
	movq %fs:(%r10), %r11
	testq %r11, %r11
	jz \none
.endm

// Takes the guard; r10 is still SELF's. A preemptive scheduler may have swapped us away since
// SELF. So it is one instruction that looks and shuts: if another hook is under way by now, `shut`.
// If we are on another thread, the thread context is not ours, and `again` opens what we shut, and
// starts anew.
// (A plain look comes first: this one writes even if it finds 0, where another may be opening.)
.macro SHUT shut, again
	cmpl $1, CTX_GUARD(%r11)
	jne \shut
	btrl $0, CTX_GUARD(%r11)
	jnc \shut
	cmpq %fs:(%r10), %r11
	jne \again
	movl %esp, CTX_HOOK(%r11)	// for hook_abandons
.endm

// Stores the caller's registers, goes to the private stack.
.macro GO_PRIVATE
	movq (%rsp), %r10
	movq %r10, CTX_PC(%r11)
	leaq 8(%rsp), %r10
	movq %r10, CTX_SP(%r11)
	movq %rbp, CTX_FP(%r11)
	movq %rbx, CTX_S0(%r11)
	movq %r12, CTX_S1(%r11)
	movq %r13, CTX_S2(%r11)
	movq %r14, CTX_S3(%r11)
	movq %r15, CTX_S4(%r11)
	movq CTX_STACK_TOP(%r11), %r10
	movq %rsp, -8(%r10)
	leaq -80(%r10), %rsp
	// CFA = *(rsp + 72) + 8: the program's stack
	.cfi_escape 0x0f, 0x06, 0x77, 0xc8, 0x00, 0x06, 0x23, 0x08
	movq %r11, SAVED_AREA(%rsp)
.endm

// r11 = the context of a thread that has none yet; jumps to `none` if it gets none.
// A thread's first: it still stands on the stack it was born with.
.macro FIRST none
	PUSH rdi, rsi, rdx, rcx, r8, r9, rax
	call thread_start
	movq %rax, %r11
	POP rax, r9, r8, rcx, rdx, rsi, rdi
	movq ctp_self@gottpoff(%rip), %r10
	testq %r11, %r11
	jz \none
.endm

// The slot in rdi is saved: where the caller goes on from it, and its registers. Changes r10.
.macro NOTE_SAVE
	movq (%rsp), %r10
	movq %r10, CTX_SAVED_PC(%r11)
	leaq 8(%rsp), %r10
	movq %r10, CTX_SAVED_SP(%r11)
	movq %rbp, CTX_SAVED_FP(%r11)
	movq %rbx, CTX_SAVED_S0(%r11)
	movq %r12, CTX_SAVED_S1(%r11)
	movq %r13, CTX_SAVED_S2(%r11)
	movq %r14, CTX_SAVED_S3(%r11)
	movq %r15, CTX_SAVED_S4(%r11)
	movq %rdi, CTX_SAVED_SLOT(%r11)
.endm

// With the guard taken: what is saved now may lead back into the hook that is under way.
.macro HELD
	orl $HOOK_HELD, CTX_HOOK(%r11)
.endm

// With the guard taken: a switch is missed, and counted, unless we are (wiped) in
// a forked child.
.macro MISSED done
	movq CTX_LOST(%r11), %r10
	testq %r10, %r10
	jz \done
	lock incq (%r10)
	movq CTX_GAPS(%r11), %r10
	lock orl $0x80, (%r10)		// CTP_GAP_BLIND
	HELD
.endm

// With the guard taken: a longjmp out of a signal handler may abandon the hook
// that the signal found under way. If so, the guard is free again: start anew.
.macro ABANDONS done, again
	cmpq $0, CTX_LOST(%r11)
	je \done
	pushq %rdi
	.cfi_adjust_cfa_offset 8
	pushq %rsi
	.cfi_adjust_cfa_offset 8
	subq $8, %rsp
	.cfi_adjust_cfa_offset 8
	movq %rdi, %rsi
	movq %r11, %rdi
	call hook_abandons
	addq $8, %rsp
	.cfi_adjust_cfa_offset -8
	popq %rsi
	.cfi_adjust_cfa_offset -8
	popq %rdi
	.cfi_adjust_cfa_offset -8
	testl %eax, %eax
	jnz \again
.endm

// What a trampolined function is while the guard is taken
#define PASS 0
#define SWITCH 1
#define JUMP 2
