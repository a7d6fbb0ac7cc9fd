// SPDX-License-Identifier: MIT
// clang-format off
//
// fast_path.h - x86_64: the fast path of a switch. Nearly every switch equals the last one
// of the same coroutine: it is left at the same place with the same stack, and the incoming
// coroutine is suspended just where it says. Then the switch takes about ninety instructions,
// here, in the order of coroutine.c: the same words of the same tables get the same values. A
// coroutine that is left at another place, but with a stack that has a name (a server's
// coroutines wait now to read, now to write), takes 40 more if it is the one before the last,
// else sixty (FAST_ELSEWHERE). Every other
// switch takes the slow path (coroutine.c), which tests all of it again: nothing has been
// written yet.
//
// With many coroutines nearly all of the time goes to cache misses. The lines of the incoming
// coroutine are prefetched as soon as it is known, its stack and context first, so that all
// are fetched at once and during the rest. (To prefetch a bad address does no harm.)
//
// r11 is the thread context, its guard taken. Only registers that are no argument of the
// function are changed: rcx = outgoing, r10 = incoming, r8 and r9 their words `turn`; rax,
// rdx. Nothing is written to the program's stack, and rsp does not move.
#include "fast_stack.h"

// r10 = who was found last by that slot, if it is still his, and he has saved himself there.
.macro FAST_TARGET slot, long
	imulq $HANDLE_CACHE_FACTOR, \slot, %r10
	shrq $HANDLE_CACHE_SHIFT, %r10
	andl handle_cache_mask(%rip), %r10d
	addq handle_cache_table(%rip), %r10
	movq (%r10), %r10
	prefetchw STATE_SP(%r10)	// for when he leaves
	cmpq \slot, STATE_SLOT(%r10)
	jne 18f
10:	movq STATE_TURN(%r10), %r8
	cmpw $TURN_SUSPENDED, %r8w	// suspended, waits for nothing, not being written
	jne \long
.endm

// The rest of it, behind the way out: who stands in the second place.
.macro FAST_SECOND slot, long
18:	imulq $HANDLE_CACHE_FACTOR, \slot, %r10
	shrq $HANDLE_CACHE_SHIFT, %r10
	xorl $8, %r10d
	andl handle_cache_mask(%rip), %r10d
	addq handle_cache_table(%rip), %r10
	movq (%r10), %r10
	cmpq \slot, STATE_SLOT(%r10)
	je 10b
	jmp \long
.endm

// Where the outgoing coroutine is now. r9 is the candidate in between.
.macro FAST_MOVED how
	movq CTX_CANDIDATE(%r11), %r9
	cmpq %r9, STATE_LAST(%rcx)
	movw $\how, STATE_HOW(%rcx)
	jne 36f
	movw $(\how + HOW_AGAIN), STATE_HOW(%rcx)
36:
	movq %r9, STATE_LAST(%rcx)
	movl CANDIDATE_STACK(%r9), %r9d
	movl %r9d, STATE_STACK(%rcx)
.if \how == HOW_JUMP
	movups CTX_SAVED_PC(%r11), %xmm0
	movups %xmm0, STATE_PC(%rcx)
.else
	movq (%rsp), %r9
	movq %r9, STATE_PC(%rcx)
	leaq 8(%rsp), %r9
	movq %r9, STATE_SP(%rcx)
.endif
	movq CTX_SAVES_AT(%r11), %r9
	movq %r9, STATE_SLOT(%rcx)
	movq CTX_THREAD(%r11), %r9
.endm

// The first argument again: it stands in the thread context, or is somebody's slot.
.macro FAST_FIRST again
.ifc \again, %r11
	movq CTX_FIRST(%r11), %rdi
.else
	movq STATE_SLOT(\again), %rdi
.endif
.endm

// It is written down. rdi is changed, and is afterwards FAST_FIRST \again. r9 is the thread,
// rdx the time, rdi what becomes the record's second word, rax the ring's head, the outgoing coroutine's new
// `turn`, then where the record goes.
// From elsewhere: by CTX_CANDIDATE.
.macro FAST_WRITE how, again, long, elsewhere=0
	movq CTX_THREAD(%r11), %r9
	addq $(TURN_CHANGE + TURN_RUNNING - TURN_SUSPENDED), %r8
	testl $TURN_TOLD_LOW, %r8d	// one of 2^16 may have to be told in full
	jz \long
	movq THREAD_HEAD(%r9), %rax
	cmpq %rax, THREAD_UNTIL(%r9)
	jbe \long
	movq STATE_ID(%r10), %rdi
	movq %rdi, THREAD_CURRENT(%r9)	// a little early: both states are as they were
	subq THREAD_NEAR(%r9), %rdi
	cmpq $RECORD_NATIVE, %rdi
	jae 41f
40:	cmpl $0, CTX_CLOCK_NEXT(%r11)
	jne 50f
	rdtsc
	shrl %eax
	shlq $32, %rdx
	leaq (%rdx,%rax,2), %rdx	// an even number
53:	movq STATE_TURN(%rcx), %rax
	movb $1, STATE_TURN(%rcx)	// being written
.if \how == HOW_JUMP			// pc and sp stand there
	movups CTX_SAVED_FP(%r11), %xmm0
	movups CTX_SAVED_S1(%r11), %xmm1
	movups CTX_SAVED_S3(%r11), %xmm2
	movups %xmm0, STATE_FP(%rcx)
	movups %xmm1, STATE_S1(%rcx)
	movups %xmm2, STATE_S3(%rcx)
.else
	movq %rbp, STATE_FP(%rcx)
	movq %rbx, STATE_S0(%rcx)
	movq %r12, STATE_S1(%rcx)
	movq %r13, STATE_S2(%rcx)
	movq %r14, STATE_S3(%rcx)
	movq %r15, STATE_S4(%rcx)
.endif
	movq %rdx, STATE_SINCE(%rcx)
.if \elsewhere
	FAST_MOVED \how
.else
	movw $(\how + HOW_AGAIN), STATE_HOW(%rcx)
.endif
.if \how == HOW_SWAP
	movq %rsi, STATE_LEFT_TO(%rcx)
.endif
	addq $TURN_CHANGE, %rax
	movw $TURN_SUSPENDED, %ax
	movq %rax, STATE_TURN(%rcx)

	movb $1, STATE_TURN(%r10)
	movq %rdx, STATE_SINCE(%r10)
	movl CTX_SLOT(%r11), %eax
	movl %eax, STATE_THREAD(%r10)
	movq %r8, STATE_TURN(%r10)

	shlq $(RECORD_STACK_BITS - TURN_CHANGE_BIT), %r8	// `changes`, above the stack's bits
	movl STATE_STACK(%rcx), %eax
	leaq -(TURN_RUNNING << (RECORD_STACK_BITS - TURN_CHANGE_BIT))(%r8,%rax), %rax
	shlq $RECORD_TO_BITS, %rax
	orq %rax, %rdi
	movq THREAD_HEAD(%r9), %rax
	andq CTX_RING_MASK(%r11), %rax
	shlq $4, %rax
	addq CTX_RING(%r11), %rax
	shlq $8, %rdx
	addq $(RECORD_SHORT + \how), %rdx
	movq %rdx, (%rax)
	movq %rdi, 8(%rax)
	incq THREAD_HEAD(%r9)
	incq THREAD_SWITCHES(%r9)
	movq %r10, CTX_CURRENT(%r11)
.if \how == HOW_JUMP
	movq $0, CTX_SLICE(%r11)
	movq $0, CTX_SAVED_SLOT(%r11)
	movq $0, CTX_KEPT(%r11)
.endif
	FAST_FIRST \again
.endm

// The rest of it, behind the way out: the time at a high rate (guest/clock.h). rax becomes the place in
// the window. Whom another thread left is entered at a time that is not before that.
.macro FAST_CLOCK again, long
50:	movl THREAD_HEAD(%r9), %eax
	andl CTX_CLOCK_MASK(%r11), %eax
	jz 51f
	movl CTX_SLOT(%r11), %edx
	cmpl %edx, STATE_THREAD(%r10)
	jne 51f
	movq %rcx, CTX_WINDOW(%r11,%rax,8)
	movq CTX_CLOCK(%r11), %rdx
	addq $2, %rdx
	movq %rdx, CTX_CLOCK(%r11)
	jmp 53b
51:	rdtsc
	shrl %eax
	shlq $32, %rdx
	leaq (%rdx,%rax,2), %rdx	// an even number
	movq %rdx, %rax
	subq CTX_CLOCK(%r11), %rax
	cmpq $CLOCK_WINDOW, %rax
	ja 54f				// clock.c says so to those who left in it
	leaq -1(%rdx), %rax
	movq %rax, CTX_CLOCK(%r11)
	movl CTX_CLOCK_NEXT(%r11), %eax
	movl %eax, CTX_CLOCK_MASK(%r11)
	movq %rdx, THREAD_TIME_READ(%r9)
	jmp 53b
54:	FAST_FIRST \again
	jmp \long
.endm

// The rest of it, behind the way out: an id too far off for a record in one slot, unless it is the thread's
// own stack. And the time.
.macro FAST_NATIVE again, long
	FAST_CLOCK \again, \long
41:	movq THREAD_NEAR(%r9), %rdi
	shrq $RECORD_ID_BITS, %rdi
	jnz 42f				// a reader must be told more (CTP_NEAR_*)
	movq STATE_ID(%r10), %rdi
	cmpq %rdi, THREAD_NATIVE(%r9)
	movl $RECORD_NATIVE, %edi
	je 40b
42:	FAST_FIRST \again
	jmp \long
.endm

// swapcontext(rdi = where it saves itself, rsi = whom it enters)
.macro FAST_SWAP long
	cmpq $0, CTX_SLICE(%r11)
	jne \long
	FAST_TARGET %rsi, \long
	movq CONTEXT_SP(%rsi), %rax
	prefetcht0 (%rax)
	prefetcht0 CONTEXT_FPREGS(%rsi)
	cmpq %rax, STATE_SP(%r10)
	jne \long
	movq CTX_CURRENT(%r11), %rcx
	cmpq %rdi, STATE_SLOT(%rcx)
	jne 30f
	leaq 8(%rsp), %rax
	cmpq %rax, STATE_SP(%rcx)
	jne 30f
	FAST_STACK
	FAST_WRITE HOW_SWAP, %rcx, \long
.endm

// jump_fcontext(rdi = whom it enters, rsi), ontop_fcontext(rdi, rsi, rdx). Who saved himself at rdi
// did so by one of these: so it is no other's function that has more arguments.
.macro FAST_FCONTEXT how, long
	cmpq $0, CTX_SLICE(%r11)
	jne \long
	prefetcht0 (%rdi)		// he stands there
	FAST_TARGET %rdi, \long
.if \how == HOW_ONTOP
	movq %rdx, CTX_ARGUMENT(%r11)
.endif
	movq CTX_CURRENT(%r11), %rcx
	leaq 8(%rsp), %rax
	cmpq %rax, STATE_SP(%rcx)
	jne 30f
	subq fcontext_bytes(%rip), %rax
	cmpq %rax, STATE_SLOT(%rcx)
	jne 17f
	FAST_STACK
	FAST_WRITE \how, %r10, 17f
.endm

.macro FAST_FCONTEXT_LONG how, long
17:	movq STATE_SLOT(%r10), %rdi
.if \how == HOW_ONTOP
	movq CTX_ARGUMENT(%r11), %rdx
.endif
	jmp \long
.endm

// longjmp(rdi = whom it enters, rsi) and its like. The outgoing coroutine's place and registers are those of
// its own save, the one thing that happened in this slice. (It calls an ordinary function: xmm0 to xmm2 are
// free.)
.macro FAST_JUMP long
	cmpq $SLICE_KEEPS, CTX_SLICE(%r11)
	jne \long
	FAST_TARGET %rdi, \long
	movq JMPBUF_SP(%rdi), %rax
	rorq $JMPBUF_ROTATE, %rax
	xorq %fs:JMPBUF_GUARD, %rax
	prefetcht0 (%rax)
	cmpq %rax, STATE_SP(%r10)
	jne \long
	cmpb $HOW_JUMP, STATE_HOW(%r10)
	jne \long
	movq CTX_CURRENT(%r11), %rcx
	movq CTX_SAVED_SLOT(%r11), %rax
	testq %rax, %rax		// it was taken back (makecontext)
	jz \long
	cmpq %rax, %rdi			// its own save
	je \long
	movq CTX_SAVED_SP(%r11), %rdi
	cmpq %rsp, %rdi			// who saved itself has not returned
	jbe 17f
	cmpq %rax, STATE_SLOT(%rcx)
	jne 30f
	cmpq %rdi, STATE_SP(%rcx)
	jne 30f
	FAST_STACK CTX_SAVED_PC(%r11), 0, %rdi
	FAST_WRITE HOW_JUMP, %r10, 17f
.endm

.macro FAST_JUMP_LONG long
17:	movq STATE_SLOT(%r10), %rdi
	jmp \long
.endm

.macro FAST_OUT how, name
.if \how == HOW_ONTOP
	movq CTX_ARGUMENT(%r11), %rdx
.endif
	movq $1, CTX_GUARD(%r11)
	jmp *real_\name(%rip)
.endm

// All of it: goes to real_<name>, or to `long` with all arguments as they were.
.macro SHORT how, name, long
.if \how == HOW_SWAP
	FAST_SWAP \long
	FAST_OUT \how, \name
	FAST_SECOND %rsi, \long
	FAST_STACK_FP
	FAST_NATIVE %rcx, \long
	FAST_ELSEWHERE \how, 17f, %rdi
	FAST_WRITE \how, %rcx, 17f, 1
	FAST_OUT \how, \name
	FAST_NATIVE %rcx, 17f
	FAST_SEARCH 17f
17:	movq CTX_SAVES_AT(%r11), %rdi
	jmp \long
.elseif \how == HOW_JUMP
	FAST_JUMP \long
	FAST_OUT \how, \name
	FAST_SECOND %rdi, \long
	FAST_STACK_FP 0, %rdi, CTX_SAVED_FP(%r11)
	FAST_NATIVE %r10, 17f
	FAST_ELSEWHERE \how, 17f, CTX_SAVED_SLOT(%r11), CTX_SAVED_PC(%r11), 0, %rdi
	FAST_WRITE \how, %r10, 17f, 1
	FAST_OUT \how, \name
	FAST_NATIVE %r10, 17f
	FAST_SEARCH 17f, CTX_SAVED_PC(%r11), 0, %rdi, CTX_SAVED_FP(%r11)
	FAST_JUMP_LONG \long
.else
	FAST_FCONTEXT \how, \long
	FAST_OUT \how, \name
	FAST_SECOND %rdi, \long
	FAST_STACK_FP
	FAST_NATIVE %r10, 17f
	FAST_ELSEWHERE \how, 17f
	FAST_WRITE \how, %r10, 17f, 1
	FAST_OUT \how, \name
	FAST_NATIVE %r10, 17f
	FAST_SEARCH 17f
	FAST_FCONTEXT_LONG \how, \long
.endif
.endm
