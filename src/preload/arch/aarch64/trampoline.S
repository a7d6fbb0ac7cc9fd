// SPDX-License-Identifier: MIT
//
// Trampolines for functions that save or switch contexts. Such a function may
// return twice, on another thread, or never, so it must not gain a frame: the
// trampoline calls the C hook on the thread's private stack (nothing is written
// below the program's stack pointer), restores every argument, and jumps.
//
// The private stack's frame, from sp up (struct arguments in context.h):
//	0 the thread context  8 the program's sp  16 x8  24 x30  32 to 88 x0 to x7
// x17 is the thread context, x14 to x16 are scratch. Vector registers are touched by
// nothing that runs here. real_<name> is reached by x16: a landing pad of any kind will do.
#include <asm/unistd.h>

#include "asm.h"

#define FRAME 96
#define SAVED_AREA 0
#define SAVED_SP 8
#define SAVED_X8 16
#define SAVED_LR 24
#define SAVED_X0 32
#define SAVED_X2 48
#define SAVED_X4 64
#define SAVED_X6 80

// \to = this thread's context, or 0; changes x16.
.macro LOAD_SELF to
	mrs x16, tpidr_el0
	adrp \to, :gottprel:ctp_self
	ldr \to, [\to, :gottprel_lo12:ctp_self]
	ldr \to, [x16, \to]
.endm

// x17 = this thread's context; jumps to `none` if there is none.
.macro SELF none
	LOAD_SELF x17
	cbz x17, \none
.endm

.macro OPEN
	mov x16, 1
	str x16, [x17, CTX_GUARD]	// and CTX_HOOK
.endm

// Takes the guard. A preemptive scheduler may have swapped us away since SELF. So looking and
// shutting is one step: if another hook is under way by now, `shut`. If we are on another thread,
// the thread context is not ours, and `again` opens what we shut, and starts anew.
.macro SHUT shut, again
9:	ldxr w16, [x17]			// CTX_GUARD
	cbz w16, \shut
	stxr w16, wzr, [x17]
	cbnz w16, 9b
	LOAD_SELF x15
	cmp x15, x17
	b.ne \again
	mov x16, sp
	str w16, [x17, CTX_HOOK]	// for hook_abandons
.endm

// Stores the caller's registers from offset `pc` of the thread context on. x16 = its sp.
.macro KEEP_CALLER pc
	mov x16, sp
	stp x30, x16, [x17, \pc]
	stp x29, x19, [x17, \pc + 16]
	stp x20, x21, [x17, \pc + 32]
	stp x22, x23, [x17, \pc + 48]
.endm

.macro JUMP_REAL name
	adrp x16, real_\name
	ldr x16, [x16, :lo12:real_\name]
	br x16
.endm

// x17 = the context of a thread that has none yet; jumps to `none` if it gets none.
// A thread's first: it still stands on the stack it was born with.
.macro FIRST none
	stp x8, x30, [sp, -80]!
	.cfi_adjust_cfa_offset 80
	.cfi_rel_offset x30, 8
	stp x0, x1, [sp, 16]
	stp x2, x3, [sp, 32]
	stp x4, x5, [sp, 48]
	stp x6, x7, [sp, 64]
	bl thread_start
	mov x17, x0
	ldp x6, x7, [sp, 64]
	ldp x4, x5, [sp, 48]
	ldp x2, x3, [sp, 32]
	ldp x0, x1, [sp, 16]
	ldp x8, x30, [sp], 80
	.cfi_adjust_cfa_offset -80
	.cfi_restore x30
	cbz x17, \none
.endm

// With the guard taken: what is saved now may lead back into the hook that is under way.
.macro HELD
	ldr w15, [x17, CTX_HOOK]
	orr w15, w15, HOOK_HELD
	str w15, [x17, CTX_HOOK]
.endm

// With the guard taken: a switch is missed, and counted, unless we are (wiped) in
// a forked child.
.macro MISSED done
	ldr x16, [x17, CTX_LOST]
	cbz x16, \done
6:	ldxr x15, [x16]
	add x15, x15, 1
	stxr w14, x15, [x16]
	cbnz w14, 6b
	ldr x16, [x17, CTX_GAPS]
7:	ldxr w15, [x16]
	orr w15, w15, 0x80		// CTP_GAP_BLIND
	stlxr w14, w15, [x16]
	cbnz w14, 7b
	HELD
.endm

// With the guard taken: a longjmp out of a signal handler may abandon the hook
// that the signal found under way. If so, the guard is free again: start anew.
.macro ABANDONS done, again
	ldr x16, [x17, CTX_LOST]
	cbz x16, \done
	stp x0, x1, [sp, -32]!
	.cfi_adjust_cfa_offset 32
	str x30, [sp, 16]
	.cfi_rel_offset x30, 16
	mov x1, x0
	mov x0, x17
	bl hook_abandons
	mov w16, w0
	ldr x30, [sp, 16]
	ldp x0, x1, [sp], 32
	.cfi_adjust_cfa_offset -32
	.cfi_restore x30
	cbnz w16, \again
.endm

// TRAMPOLINE name, hook: calls hook_<hook>(context, arguments) on the private stack,
// then jumps to real_<name>. What it is while the guard is taken: PASS nothing, SWITCH or JUMP.
// all: it has more than two arguments, or may be a function that we do not know.
#define PASS 0
#define SWITCH 1
#define JUMP 2
.macro TRAMPOLINE name, hook, kind, all=0
	.p2align 4
	EXPORTED(\name)
	.cfi_startproc
	.cfi_signal_frame	// else gdb stops at the stack change
	LANDING
0:	SELF 2f
1:	SHUT 4f, 5f
	.cfi_remember_state
	KEEP_CALLER CTX_PC
	ldr x15, [x17, CTX_STACK_TOP]
	stp x17, x16, [x15, -FRAME]!
	stp x8, x30, [x15, SAVED_X8]
	stp x0, x1, [x15, SAVED_X0]
.if \all
	stp x2, x3, [x15, SAVED_X2]
	stp x4, x5, [x15, SAVED_X4]
	stp x6, x7, [x15, SAVED_X6]
.endif
	mov sp, x15
	.cfi_escape 0x0f, 0x03, 0x8f, SAVED_SP, 0x06	// CFA = *(sp + SAVED_SP): the program's stack
	.cfi_escape 0x10, 0x1e, 0x02, 0x8f, SAVED_LR	// x30 at sp + SAVED_LR
	mov x0, x17
	mov x1, sp
	bl hook_\hook
.if \all
	ldp x6, x7, [sp, SAVED_X6]
	ldp x4, x5, [sp, SAVED_X4]
	ldp x2, x3, [sp, SAVED_X2]
.endif
	ldp x0, x1, [sp, SAVED_X0]
	ldp x8, x30, [sp, SAVED_X8]
	ldp x17, x16, [sp, SAVED_AREA]
	mov sp, x16
	.cfi_restore_state
	OPEN
3:	JUMP_REAL \name

4:					// in a signal handler inside a hook, or a forked child
.if \kind == SWITCH
	MISSED 3b
.elseif \kind == JUMP
	ABANDONS 3b, 0b
.endif
	b 3b
5:	OPEN
	b 0b
2:	FIRST 3b
	b 1b
	.cfi_endproc
	END(\name)
.endm

// SAVES name: what saves the caller's context at its first argument, and goes
// on. Notes where, and the registers; the save counts once the caller leaves.
// keep: the last one is kept, as this one may be taken back.
.macro SAVES name, keep=0
	.p2align 4
	EXPORTED(\name)
	.cfi_startproc
	LANDING
0:	SELF 2f
1:	SHUT 4f, 5f
.if \keep
	.set off, 0
	.rept (CTX_KEPT - CTX_SAVED_SLOT) / 8
	ldr x16, [x17, CTX_SAVED_SLOT + off]
	str x16, [x17, CTX_KEPT + off]
	.set off, off + 8
	.endr
.endif
	KEEP_CALLER CTX_SAVED_PC
	str x0, [x17, CTX_SAVED_SLOT]
	OPEN
3:	JUMP_REAL \name
4:	HELD
	b 3b
5:	OPEN
	b 0b
2:	FIRST 3b
	b 1b
	.cfi_endproc
	END(\name)
.endm

	SAVES getcontext, 1
	TRAMPOLINE makecontext, makecontext, PASS, 1
	TRAMPOLINE setcontext, setcontext, SWITCH
	TRAMPOLINE swapcontext, swapcontext, SWITCH

	SAVES setjmp
	SAVES _setjmp
	SAVES __sigsetjmp
	TRAMPOLINE longjmp, longjmp, JUMP
	TRAMPOLINE _longjmp, longjmp, JUMP
	TRAMPOLINE siglongjmp, longjmp, JUMP
	TRAMPOLINE __longjmp_chk, longjmp, JUMP

	TRAMPOLINE jump_fcontext, jump_fcontext, SWITCH, 1
	TRAMPOLINE ontop_fcontext, ontop_fcontext, SWITCH, 1
	TRAMPOLINE _ZN5boost7context6detail13jump_fcontextEPvS2_, jump_fcontext, SWITCH, 1
	TRAMPOLINE _ZN5boost7context6detail14ontop_fcontextEPvS2_PFNS1_10transfer_tES3_E, ontop_fcontext, SWITCH, 1
	TRAMPOLINE coroutine_transfer, coroutine_transfer, SWITCH, 1

// long syscall(long nr, ...): a filter is noted. Nothing else is touched for any other call, which may
// return twice, on another stack, or never.
	.p2align 4
	EXPORTED(syscall)
	.cfi_startproc
	LANDING
	cmp x0, __NR_seccomp
	b.ne 1f
	b hook_seccomp
1:	JUMP_REAL syscall
	.cfi_endproc
	END(syscall)

// pid_t vfork(void). The child runs in our memory until it execs or ends: the
// guard stays taken for it, and the parent frees it again. The return address is
// kept in the thread context, for the child overwrites the stack.
	.p2align 4
	EXPORTED(vfork)
	.cfi_startproc
	LANDING
0:	SELF 1f
	SHUT 1f, 3f
	str x30, [x17, CTX_VFORK_PC]
	.cfi_remember_state
	adrp x16, real_vfork
	ldr x16, [x16, :lo12:real_vfork]
	.cfi_undefined x30		// it is where no table can say: a walk ends here
	blr x16
	LOAD_SELF x17
	ldr x30, [x17, CTX_VFORK_PC]
	.cfi_restore_state
	cbz w0, 2f
	OPEN
2:	ret
1:	JUMP_REAL vfork
3:	OPEN
	b 0b
	.cfi_endproc
	END(vfork)

// Where a made context begins (hook_makecontext put the real function into its
// x20, its record into x21, and this into its pc). glibc's makecontext lets the
// function return to __startcontext: now it will return to the exit stub.
	.p2align 4
	.cfi_startproc
	.cfi_undefined x30
	nop
	HIDDEN(ctp_coroutine_begin)
	LANDING
	adrp x16, ctp_start_context
	add x16, x16, :lo12:ctp_start_context
	ldr x15, [x16]
	cmp x15, x30
	b.eq 1f
	cbnz x15, 2f			// somebody else's way to return: let it be
	str x30, [x16]
1:	adr x30, ctp_coroutine_returned
2:	mov x16, x20
	br x16
	END(ctp_coroutine_begin)
	.cfi_endproc

// Where a coroutine's function returns to: no call shows the way through
// uc_link, which is in x19. The nop before the name: unwinders look up pc - 1.
	.p2align 4
	.cfi_startproc
	.cfi_undefined x30
	nop
	HIDDEN(ctp_coroutine_returned)
0:	SELF 1f
	SHUT 1f, 2f
	mov x16, sp
	ldr x15, [x17, CTX_STACK_TOP]
	stp x17, x16, [x15, -FRAME]!
	mov sp, x15
	mov x0, x17
	mov x1, x19
	bl hook_return
	ldp x17, x16, [sp, SAVED_AREA]
	mov sp, x16
	OPEN
1:	adrp x30, ctp_start_context
	ldr x30, [x30, :lo12:ctp_start_context]
	ret
2:	OPEN
	b 0b
	END(ctp_coroutine_returned)
	.cfi_endproc

// uint64_t cpu_on_private(struct thread_ctx *g, uint64_t (*f)(void *), void *arg):
// f(arg) on the thread's private stack. For C hooks, which stand on the
// program's stack, when they need more than a little of it; guard taken.
	.p2align 4
	HIDDEN(cpu_on_private)
	.cfi_startproc
	.cfi_signal_frame
	LANDING
	stp x29, x30, [sp, -16]!
	.cfi_adjust_cfa_offset 16
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	mov x29, sp
	.cfi_def_cfa_register x29
	ldr x16, [x0, CTX_STACK_TOP]
	mov sp, x16
	mov x0, x2
	blr x1
	mov sp, x29
	.cfi_def_cfa_register sp
	ldp x29, x30, [sp], 16
	.cfi_adjust_cfa_offset -16
	.cfi_restore x29
	.cfi_restore x30
	ret
	.cfi_endproc
	END(cpu_on_private)

// uint64_t jmpbuf_guard(void): what glibc xors the pc and the sp in a jmp_buf
// with. It has no public name, so one sp that we know is saved, and looked at.
#define JMPBUF_BYTES 384
	.p2align 4
	HIDDEN(jmpbuf_guard)
	.cfi_startproc
	LANDING
	adrp x1, guard
	ldr x0, [x1, :lo12:guard]
	cbnz x0, 1f
	stp x29, x30, [sp, -(JMPBUF_BYTES + 16)]!
	.cfi_adjust_cfa_offset JMPBUF_BYTES + 16
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	mov x29, sp
	add x0, sp, 16
	adrp x16, real__setjmp
	ldr x16, [x16, :lo12:real__setjmp]
	blr x16
	ldr x0, [sp, 16 + 13 * 8]	// JMPBUF_SP
	mov x1, sp
	eor x0, x0, x1
	adrp x1, guard
	str x0, [x1, :lo12:guard]
	ldp x29, x30, [sp], JMPBUF_BYTES + 16
	.cfi_adjust_cfa_offset -(JMPBUF_BYTES + 16)
	.cfi_restore x29
	.cfi_restore x30
1:	ret
	.cfi_endproc
	END(jmpbuf_guard)

	.bss
	.p2align 3
// Address of __startcontext: the same in every context that glibc makes.
	.local ctp_start_context
	.type ctp_start_context, %object
ctp_start_context:
	.zero 8
	.size ctp_start_context, 8
	.local guard
	.type guard, %object
guard:
	.zero 8
	.size guard, 8
