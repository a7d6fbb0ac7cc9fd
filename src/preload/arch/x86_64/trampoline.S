// SPDX-License-Identifier: MIT
//
// Trampolines for functions that save or switch contexts. Such a function may
// return twice, on another thread, or never, so it must not gain a frame: the
// trampoline calls the C hook on the thread's private stack (nothing is written
// below the program's stack pointer), restores every argument, and jumps. (private_stack.h)
#include <asm/unistd.h>

#include "asm.h"
#include "private_stack.h"
#include "fast_path.h"

// TRAMPOLINE name, hook: calls hook_<hook>(context, arguments) on the private stack,
// then jumps to real_<name>. What it is while the guard is taken: PASS nothing, SWITCH or JUMP.
// all: it has more than two arguments, or may be a function that we do not know.
// how: the fast path (fast_path.h) is tried first. hidden: its own name, where the other has a stand-in.
.macro TRAMPOLINE name, hook, kind, all=0, how=0, hidden
	.p2align 4
.ifb \hidden
	EXPORTED(\name)
.else
	HIDDEN(\hidden)
.endif
	.cfi_startproc
	.cfi_signal_frame	// else gdb stops at the stack change
	endbr64
0:	SELF 2f
1:	SHUT 4f, 5f
.if \how
	SHORT \how, \name, 8f
.endif
8:	.cfi_remember_state
	GO_PRIVATE
	movq %rdi, SAVED_RDI(%rsp)
	movq %rsi, SAVED_RSI(%rsp)
.if \all
	movq %rdx, SAVED_RDX(%rsp)
	movq %rcx, SAVED_RCX(%rsp)
	movq %r8, SAVED_R8(%rsp)
	movq %r9, SAVED_R9(%rsp)
	movq %rax, SAVED_RAX(%rsp)
.endif
	movq %r11, %rdi
	movq %rsp, %rsi
	call hook_\hook
	movq SAVED_AREA(%rsp), %r11
	movq SAVED_RDI(%rsp), %rdi
	movq SAVED_RSI(%rsp), %rsi
.if \all
	movq SAVED_RDX(%rsp), %rdx
	movq SAVED_RCX(%rsp), %rcx
	movq SAVED_R8(%rsp), %r8
	movq SAVED_R9(%rsp), %r9
	movq SAVED_RAX(%rsp), %rax
.endif
	movq SAVED_SP(%rsp), %rsp
	.cfi_restore_state
	movq $1, CTX_GUARD(%r11)
3:	jmp *real_\name(%rip)

4:					// in a signal handler inside a hook, or a forked child
.if \kind == SWITCH
	MISSED 3b
.elseif \kind == JUMP
	ABANDONS 3b, 0b
.endif
	jmp 3b
5:	movq $1, CTX_GUARD(%r11)
	jmp 0b
2:	FIRST 3b
	jmp 1b
	.cfi_endproc
.ifb \hidden
	END(\name)
.else
	END(\hidden)
.endif
.endm

// SAVES name: what saves the caller's context at its first argument, and goes
// on. Notes where, and the registers; the save counts once the caller leaves.
// keep: the last one is kept, as this one may be taken back.
.macro SAVES name, keep=0
	.p2align 4
	EXPORTED(\name)
	.cfi_startproc
	endbr64
0:	SELF 2f
1:	SHUT 4f, 5f
	movb $1, CTX_KEEPS(%r11)
.if \keep
	.set off, 0
	.rept (CTX_KEPT - CTX_SAVED_SLOT) / 8
	movq CTX_SAVED_SLOT + off(%r11), %r10
	movq %r10, CTX_KEPT + off(%r11)
	.set off, off + 8
	.endr
.endif
	NOTE_SAVE
	movq $1, CTX_GUARD(%r11)
3:	jmp *real_\name(%rip)
4:	HELD
	jmp 3b
5:	movq $1, CTX_GUARD(%r11)
	jmp 0b
2:	FIRST 3b
	jmp 1b
	.cfi_endproc
	END(\name)
.endm

	.text
	SAVES getcontext, 1
	TRAMPOLINE makecontext, makecontext, PASS, 1
	TRAMPOLINE setcontext, setcontext, SWITCH
	TRAMPOLINE swapcontext, swapcontext, SWITCH, 0, HOW_SWAP

	SAVES setjmp
	SAVES _setjmp
	SAVES __sigsetjmp
	TRAMPOLINE longjmp, longjmp, JUMP, 0, HOW_JUMP
	TRAMPOLINE _longjmp, longjmp, JUMP, 0, HOW_JUMP
	TRAMPOLINE siglongjmp, longjmp, JUMP, 0, HOW_JUMP
	TRAMPOLINE __longjmp_chk, longjmp, JUMP, 0, HOW_JUMP

	TRAMPOLINE jump_fcontext, jump_fcontext, SWITCH, 1, HOW_FCONTEXT
	TRAMPOLINE ontop_fcontext, ontop_fcontext, SWITCH, 1, HOW_ONTOP
	TRAMPOLINE _ZN5boost7context6detail13jump_fcontextEPvS2_, jump_fcontext, SWITCH, 1, HOW_FCONTEXT, exported_jump
	TRAMPOLINE _ZN5boost7context6detail14ontop_fcontextEPvS2_PFNS1_10transfer_tES3_E, ontop_fcontext, SWITCH, 1, HOW_ONTOP, exported_ontop

// long syscall(long nr, ...): a filter is noted. Nothing else is touched for any other call, which may
// return twice, on another stack, or never.
	.p2align 4
	EXPORTED(syscall)
	.cfi_startproc
	endbr64
	cmpq $__NR_seccomp, %rdi
	je hook_seccomp
	jmp *real_syscall(%rip)
	.cfi_endproc
	END(syscall)

// pid_t vfork(void). The child runs in our memory until it execs or ends: the
// guard stays taken for it, and the parent frees it again. The return address is
// kept in the thread context, for the child overwrites the stack.
	.p2align 4
	EXPORTED(vfork)
	.cfi_startproc
	endbr64
0:	SELF 1f
	SHUT 1f, 3f
	popq %r10
	.cfi_adjust_cfa_offset -8
	.cfi_register rip, r10
	movq %r10, CTX_VFORK_PC(%r11)
	call *real_vfork(%rip)
	movq ctp_self@gottpoff(%rip), %r11
	movq %fs:(%r11), %r11
	pushq CTX_VFORK_PC(%r11)
	.cfi_adjust_cfa_offset 8
	.cfi_offset rip, -8
	testl %eax, %eax
	jz 2f
	movq $1, CTX_GUARD(%r11)
2:	ret
1:	jmp *real_vfork(%rip)
3:	movq $1, CTX_GUARD(%r11)
	jmp 0b
	.cfi_endproc
	END(vfork)

// Where a made context begins (hook_makecontext put the real function into its
// r12, its record into r13, and this into its rip). Puts the exit stub where
// the function will return to.
	.p2align 4
	.cfi_startproc
	.cfi_undefined rip
	nop
	HIDDEN(ctp_coroutine_begin)
	movq (%rsp), %r11
	cmpq %r11, ctp_start_context(%rip)
	je 1f
	cmpq $0, ctp_start_context(%rip)
	jne 2f			// begun again: glibc has overwritten it; let it be
	movq %r11, ctp_start_context(%rip)
1:	leaq ctp_coroutine_returned(%rip), %r11
	movq %r11, (%rsp)
2:	jmp *%r12
	END(ctp_coroutine_begin)
	.cfi_endproc

// Where a coroutine's function returns to: no call shows the way through
// uc_link. rbx points to the word that holds uc_link (glibc's __start_context).
// The nop before the name: unwinders look up pc - 1.
	.p2align 4
	.cfi_startproc
	.cfi_undefined rip
	nop
	HIDDEN(ctp_coroutine_returned)
0:	SELF 1f
	SHUT 1f, 2f
	movq %rsp, CTX_SP(%r11)
	movq CTX_STACK_TOP(%r11), %r10
	movq %rsp, -8(%r10)
	leaq -80(%r10), %rsp
	movq %r11, SAVED_AREA(%rsp)
	movq %r11, %rdi
	movq (%rbx), %rsi
	call hook_return
	movq SAVED_AREA(%rsp), %r11
	movq SAVED_SP(%rsp), %rsp
	movq $1, CTX_GUARD(%r11)
1:	jmp *ctp_start_context(%rip)
2:	movq $1, CTX_GUARD(%r11)
	jmp 0b
	END(ctp_coroutine_returned)
	.cfi_endproc

// uint64_t cpu_on_private(struct thread_ctx *g, uint64_t (*f)(void *), void *arg):
// f(arg) on the thread's private stack. For C hooks, which stand on the
// program's stack, when they need more than a little of it; guard taken.
	.p2align 4
	HIDDEN(cpu_on_private)
	.cfi_startproc
	.cfi_signal_frame
	endbr64
	pushq %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_offset rbp, -16
	movq %rsp, %rbp
	.cfi_def_cfa_register rbp
	movq CTX_STACK_TOP(%rdi), %rsp
	movq %rdx, %rdi
	call *%rsi
	movq %rbp, %rsp
	popq %rbp
	.cfi_def_cfa rsp, 8
	ret
	.cfi_endproc
	END(cpu_on_private)

// Address of __start_context: the same in every context that glibc makes.
	.bss
	.p2align 3
	.local ctp_start_context
	.type ctp_start_context, @object
ctp_start_context:
	.zero 8
	.size ctp_start_context, 8

	.section .note.GNU-stack, "", @progbits
