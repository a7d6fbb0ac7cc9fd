// SPDX-License-Identifier: MIT
//
// Where the entries of patched switch functions lead (preload/patch): rax is the instance. The
// trampolines are those of trampoline.S, but for where they go on: at the instance's piece of
// the pool, which does what the entry has displaced, and jumps back. No such function takes an
// argument in rax. The pool is part of our own code; patch.c writes it.
#include "asm.h"
#include "preload/guest/switcher.h"
#include "private_stack.h"
#include "fast_path.h"

.macro FAST_REST args
.if \args >= 3
	movq CTX_ARGUMENT(%r11), %rdx
.endif
.if \args >= 4
	movq CTX_FOURTH(%r11), %rcx
.endif
.endm

.macro FAST_REAL
	movq CTX_INSTANCE(%r11), %rax
	movq $1, CTX_GUARD(%r11)
	jmp *SWITCHER_REAL(%rax)
.endm

// The incoming coroutine by its handle, which `target` yields, or by where its registers are stored (\args 2).
.macro FAST_TRANSFER family, target, how, args
	cmpq $0, CTX_SLICE(%r11)
	jne 8f
	movq %rdi, CTX_FIRST(%r11)
.if \args >= 3
	movq %rdx, CTX_ARGUMENT(%r11)
.endif
.if \args >= 4
	movq %rcx, CTX_FOURTH(%r11)
.endif
	movq \target, %r9
	prefetcht0 (%r9)
	FAST_TARGET %r9, 8f
.ifc \family, struct
	movq SWITCHER_SP_AT(%rax), %rdx
	movq (%r9,%rdx), %rdx
	prefetcht0 (%rdx)
	addq SWITCHER_BYTES(%rax), %rdx
	cmpq %rdx, STATE_SP(%r10)
	jne 8f
.endif
	movq CTX_CURRENT(%r11), %rcx
	leaq 8(%rsp), %rax
	cmpq %rax, STATE_SP(%rcx)
	jne 30f
.ifc \family, struct
	cmpq %rdi, STATE_SLOT(%rcx)
	jne 30f
.else
	movq CTX_INSTANCE(%r11), %rdx
	subq SWITCHER_BYTES(%rdx), %rax
	cmpq %rax, STATE_SLOT(%rcx)
	jne 17f
.endif
	FAST_STACK
	FAST_WRITE \how, %r11, 17f
	FAST_REST \args
	FAST_REAL
	FAST_SECOND %r9, 8f
	FAST_STACK_FP
	FAST_NATIVE %r11, 17f
.ifc \family, struct
	FAST_ELSEWHERE \how, 17f, CTX_FIRST(%r11)
.else
	FAST_ELSEWHERE \how, 17f, instance
.endif
	FAST_WRITE \how, %r11, 17f, 1
	FAST_REST \args
	FAST_REAL
	FAST_NATIVE %r11, 17f
	FAST_SEARCH 17f
17:	movq CTX_FIRST(%r11), %rdi
	FAST_REST \args
.endm

// TRANSFER name, how, target, args: hook_transfer() decides, unless the fast path does (target: none).
.macro TRANSFER name, how=0, target, args=4
	.p2align 4
	HIDDEN(transfer_\name)
	.cfi_startproc
	.cfi_signal_frame
	endbr64
0:	SELF 2f
1:	SHUT 4f, 5f
	movq %rax, CTX_INSTANCE(%r11)
.ifnb \target
	FAST_TRANSFER \name, \target, \how, \args
.endif
8:	.cfi_remember_state
	GO_PRIVATE
	movq %rdi, SAVED_RDI(%rsp)
	movq %rsi, SAVED_RSI(%rsp)
	movq %rdx, SAVED_RDX(%rsp)
	movq %rcx, SAVED_RCX(%rsp)
	movq CTX_INSTANCE(%r11), %rax
	movq %rax, SAVED_RAX(%rsp)
	movq %r11, %rdi
	movq %rsp, %rsi
	call hook_transfer
	movq SAVED_AREA(%rsp), %r11
	movq SAVED_RDI(%rsp), %rdi
	movq SAVED_RSI(%rsp), %rsi
	movq SAVED_RDX(%rsp), %rdx
	movq SAVED_RCX(%rsp), %rcx
	movq SAVED_RAX(%rsp), %rax
	movq SAVED_SP(%rsp), %rsp
	.cfi_restore_state
	movq $1, CTX_GUARD(%r11)
3:	jmp *SWITCHER_REAL(%rax)

4:	MISSED 3b
	jmp 3b
5:	movq $1, CTX_GUARD(%r11)
	jmp 0b
2:	FIRST 3b
	jmp 1b
	.cfi_endproc
	END(transfer_\name)
.endm

	.text
	TRANSFER handle, HOW_FCONTEXT, %rdi, 2
	TRANSFER ontop, HOW_ONTOP, %rdi, 3
	TRANSFER from, HOW_FCONTEXT, %rsi, 4
	TRANSFER slot, HOW_FCONTEXT, (%rsi), 2
	TRANSFER slot_back, HOW_FCONTEXT, (%rdi), 2
	TRANSFER helper, HOW_FCONTEXT, %rcx, 4
	TRANSFER struct, HOW_FCONTEXT, %rsi, 2
	TRANSFER enter
	TRANSFER restore
	TRANSFER greenlet

// As SAVES of trampoline.S.
	.p2align 4
	HIDDEN(transfer_save)
	.cfi_startproc
	endbr64
0:	SELF 2f
1:	SHUT 4f, 5f
	movb $1, CTX_KEEPS(%r11)
	NOTE_SAVE
	movq $1, CTX_GUARD(%r11)
3:	jmp *SWITCHER_REAL(%rax)
4:	HELD
	jmp 3b
5:	movq $1, CTX_GUARD(%r11)
	jmp 0b
2:	FIRST 3b
	jmp 1b
	.cfi_endproc
	END(transfer_save)

// What returns as any function does: hook_transfer_make(top, size, function, instance).
	.p2align 4
	HIDDEN(transfer_make)
	.cfi_startproc
	endbr64
	movq %rax, %rcx
	jmp hook_transfer_make
	.cfi_endproc
	END(transfer_make)

// STAND_IN name: what the program calls by that name (preload/patch/exported.c). It goes through the instance
// of the time before, if that one is of the same function: of the one that the name means by now, or, where only some
// modules see one, of the same caller's.
	.set stand_ins, 0
.macro STAND_IN name
	.p2align 4
	EXPORTED(\name)
	.cfi_startproc
	endbr64
	movq exported_now + 8 * stand_ins(%rip), %rax
	movq real_\name(%rip), %r10
	cmpq %r10, SWITCHER_REAL(%rax)
	jne 1f
0:	jmp *SWITCHER_ENTRY(%rax)
1:	movq (%rsp), %r10
	cmpq %r10, SWITCHER_CALLER(%rax)
	jne 2f
	movq real_turn(%rip), %r10
	cmpq %r10, SWITCHER_TURN(%rax)
	je 0b
2:	movl $stand_ins, %r10d
	jmp stand_in_first
	.cfi_endproc
	END(\name)
	.set stand_ins, stand_ins + 1
.endm

	STAND_IN coro_transfer
	STAND_IN coroutine_transfer
	STAND_IN fiber_switchContext
	STAND_IN qt_abort
	STAND_IN qt_block
	STAND_IN qt_blocki
	STAND_IN _ZN5boost7context6detail13jump_fcontextEPvS2_
	STAND_IN _ZN5boost7context6detail13make_fcontextEPvmPFvNS1_10transfer_tEE
	STAND_IN _ZN5boost7context6detail14ontop_fcontextEPvS2_PFNS1_10transfer_tES3_E

	.type stand_in_first, @function
stand_in_first:
	.cfi_startproc
	PUSH rdi, rsi, rdx, rcx, r8, r9
	subq $8, %rsp			// aligned
	.cfi_adjust_cfa_offset 8
	movl %r10d, %edi
	movq 56(%rsp), %rsi
	call exported_find
	movq %rdx, %r10
	addq $8, %rsp
	.cfi_adjust_cfa_offset -8
	POP r9, r8, rcx, rdx, rsi, rdi
	testq %rax, %rax
	jz 1f
	jmp *SWITCHER_ENTRY(%rax)
1:	jmp *%r10
	.cfi_endproc
	END(stand_in_first)

	.p2align 5
	HIDDEN(cpu_pool)
	.fill SWITCHERS_MOST * SWITCHER_PIECE, 1, 0xcc
	END(cpu_pool)

	.section .note.GNU-stack, "", @progbits
