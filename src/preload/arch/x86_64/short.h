// SPDX-License-Identifier: MIT
//
// short.h - x86_64: the short way of a switch. Nearly every switch is like the
// last one that this entity made: it leaves from the same place with the same
// stack, and enters somebody who is suspended just where he says. Then all there
// is to do is some ninety instructions, here, in the order in which coroutine.c
// has them: the same words of the same tables get the same values. Whatever is
// not so goes the long way (coroutine.c), which tests all of it again: nothing
// has been written yet.
//
// With many coroutines nearly all of its time is lines that are in no cache. Those of
// who goes on are asked for as soon as he is known, his stack and context first: so
// they come all at once, and while the rest is done. (An address that is none does no harm.)
//
// r11 is the area, its gate shut. Only what the function itself does not get as an
// argument is changed: rcx = who leaves, r10 = who goes on, r8 and r9 their words
// `turn`; rax, rdx. Nothing is written to the program's stack, nor does rsp move.

// r10 = who was found last by that slot, if it is still his, and he has saved himself there.
.macro SHORT_TARGET slot, long
	imulq $RECENT_FACTOR, \slot, %r10
	shrq $RECENT_SHIFT, %r10
	andl recent_mask(%rip), %r10d
	addq recent_table(%rip), %r10
	movq (%r10), %r10
	prefetchw STATE_SP(%r10)	// for when he leaves
	cmpq \slot, STATE_SLOT(%r10)
	jne 18f
10:	movq STATE_TURN(%r10), %r8
	cmpw $TURN_SUSPENDED, %r8w	// suspended, waits for nothing, not being written
	jne \long
.endm

// The rest of it, behind the way out: who stands in the second place.
.macro SHORT_SECOND slot, long
18:	imulq $RECENT_FACTOR, \slot, %r10
	shrq $RECENT_SHIFT, %r10
	xorl $8, %r10d
	andl recent_mask(%rip), %r10d
	addq recent_table(%rip), %r10
	movq (%r10), %r10
	cmpq \slot, STATE_SLOT(%r10)
	je 10b
	jmp \long
.endm

// The leaver stands where it stood, all of whose words that matter are as they were
// (stacks.h): so its stack is the same. rdx, rax are changed. It stands `above` the register
// `base`, and goes on at `pc`.
.macro SHORT_STACK long, pc=(%rsp), above=8, base=%rsp
	movq STATE_LAST(%rcx), %r9
	movq \pc, %rax
	cmpq %rax, CANDIDATE_PLAIN(%r9)
	jne 12f
	movl CANDIDATE_LAST_ABSOLUTE(%r9), %eax
11:	movq CANDIDATE_CHECKS+8(%r9,%rax,8), %rdx
	movq \above(\base,%rdx), %rdx
	cmpq %rdx, CANDIDATE_CHECKS(%r9,%rax,8)
	jne \long
	subl $2, %eax
	jns 11b
16:
.endm

// The rest of it, behind the way out: where frames were told by frame pointers, too.
.macro SHORT_STACK_FP long, fp=%rbp, above=8, base=%rsp
12:	cmpq %rax, CANDIDATE_PC(%r9)
	jne \long
	cmpb $0, CANDIDATE_FP(%r9)
	je 13f
	movq \fp, %rax
	subq $\above, %rax
	subq \base, %rax
	cmpq %rax, CANDIDATE_FP_VAL(%r9)
	jne \long
13:	movslq CANDIDATE_LAST(%r9), %rax
14:	cmpl %eax, CANDIDATE_LAST_ABSOLUTE(%r9)
	je 15f
	movq CANDIDATE_CHECKS+8(%r9,%rax,8), %rdx
	movq \above(\base,%rdx), %rdx
	subq $\above, %rdx
	subq \base, %rdx
	cmpq %rdx, CANDIDATE_CHECKS(%r9,%rax,8)
	jne \long
	subl $2, %eax
	jmp 14b
15:	testl %eax, %eax
	jns 11b
	jmp 16b
.endm

// It is written down. rdi is changed, and is afterwards STATE_SLOT(\again). r9 is the thread,
// rdx the time, rdi what becomes the record's second word, rax the leaver's new `turn`, then where the record goes.
.macro SHORT_WRITE how, again, long
	movq AREA_THREAD(%r11), %r9
	addq $(TURN_CHANGE + TURN_RUNNING - TURN_SUSPENDED), %r8
	testl $TURN_TOLD_LOW, %r8d	// one of 2^16 may have to be told in full
	jz \long
	movq THREAD_HEAD(%r9), %rax
	cmpq %rax, THREAD_UNTIL(%r9)
	jbe \long
	movq STATE_ID(%r10), %rdi
	subq THREAD_NEAR(%r9), %rdi
	cmpq $RECORD_NATIVE, %rdi
	jae 19f
20:	rdtsc
	shlq $32, %rdx
	orq %rax, %rdx
	movq STATE_TURN(%rcx), %rax
	movb $1, STATE_TURN(%rcx)	// being written
.if \how == HOW_JUMP			// pc and sp stand there
	movups AREA_SAVED_FP(%r11), %xmm0
	movups AREA_SAVED_S1(%r11), %xmm1
	movups AREA_SAVED_S3(%r11), %xmm2
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
	movw $(\how + HOW_AGAIN), STATE_HOW(%rcx)
.if \how == HOW_SWAP
	movq %rsi, STATE_LEFT_TO(%rcx)
.endif
	addq $TURN_CHANGE, %rax
	movw $TURN_SUSPENDED, %ax
	movq %rax, STATE_TURN(%rcx)

	movb $1, STATE_TURN(%r10)
	movq %rdx, STATE_SINCE(%r10)
	movl AREA_SLOT(%r11), %eax
	movl %eax, STATE_THREAD(%r10)
	movq %r8, STATE_TURN(%r10)

	shrq $16, %r8
	shlq $(RECORD_TO_BITS + RECORD_STACK_BITS), %r8
	orq %r8, %rdi
	movl STATE_STACK(%rcx), %eax
	shlq $RECORD_TO_BITS, %rax
	orq %rax, %rdi
	movq THREAD_HEAD(%r9), %rax
	andq AREA_RING_MASK(%r11), %rax
	shlq $4, %rax
	addq AREA_RING(%r11), %rax
	shlq $8, %rdx
	addq $(RECORD_SHORT + \how), %rdx
	movq %rdx, (%rax)
	movq %rdi, 8(%rax)
	incq THREAD_HEAD(%r9)
	incq THREAD_SWITCHES(%r9)
	movq STATE_ID(%r10), %rdi
	movq %rdi, THREAD_CURRENT(%r9)
	movq %r10, AREA_CURRENT(%r11)
.if \how == HOW_JUMP
	movq $0, AREA_SLICE(%r11)
	movq $0, AREA_SAVED_SLOT(%r11)
	movq $0, AREA_KEPT(%r11)
.endif
	movq STATE_SLOT(\again), %rdi
.endm

// The rest of it, behind the way out: an id too far off for a record in one slot, unless it is the thread's own stack.
.macro SHORT_NATIVE again, long
19:	movq THREAD_NEAR(%r9), %rdi
	shrq $RECORD_ID_BITS, %rdi
	jnz 21f				// a reader must be told more (CTP_NEAR_*)
	movq STATE_ID(%r10), %rdi
	cmpq %rdi, THREAD_NATIVE(%r9)
	movl $RECORD_NATIVE, %edi
	je 20b
21:	movq STATE_SLOT(\again), %rdi
	jmp \long
.endm

// swapcontext(rdi = where it saves itself, rsi = whom it enters)
.macro SHORT_SWAP long
	cmpq $0, AREA_SLICE(%r11)
	jne \long
	SHORT_TARGET %rsi, \long
	movq CONTEXT_SP(%rsi), %rax
	prefetcht0 (%rax)
	prefetcht0 CONTEXT_FPREGS(%rsi)
	cmpq %rax, STATE_SP(%r10)
	jne \long
	movq AREA_CURRENT(%r11), %rcx
	cmpq %rdi, STATE_SLOT(%rcx)
	jne \long
	leaq 8(%rsp), %rax
	cmpq %rax, STATE_SP(%rcx)
	jne \long
	SHORT_STACK \long
	SHORT_WRITE HOW_SWAP, %rcx, \long
.endm

// jump_fcontext(rdi = whom it enters, rsi), ontop_fcontext(rdi, rsi, rdx). Who saved himself at rdi
// did so by one of these: so it is no other's function that has more arguments.
.macro SHORT_FCONTEXT how, long
	cmpq $0, AREA_SLICE(%r11)
	jne \long
	prefetcht0 (%rdi)		// he stands there
	SHORT_TARGET %rdi, \long
.if \how == HOW_ONTOP
	movq %rdx, AREA_ARGUMENT(%r11)
.endif
	movq AREA_CURRENT(%r11), %rcx
	leaq 8(%rsp), %rax
	cmpq %rax, STATE_SP(%rcx)
	jne 17f
	subq fcontext_bytes(%rip), %rax
	cmpq %rax, STATE_SLOT(%rcx)
	jne 17f
	SHORT_STACK 17f
	SHORT_WRITE \how, %r10, 17f
.if \how == HOW_ONTOP
	movq AREA_ARGUMENT(%r11), %rdx
.endif
.endm

.macro SHORT_FCONTEXT_LONG how, long
17:
.if \how == HOW_ONTOP
	movq AREA_ARGUMENT(%r11), %rdx
.endif
	jmp \long
.endm

// longjmp(rdi = whom it enters, rsi) and its like. The leaver's place and registers are those of its own save,
// the one thing that happened in this slice. (It calls an ordinary function: xmm0 to xmm2 are free.)
.macro SHORT_JUMP long
	cmpq $SLICE_KEEPS, AREA_SLICE(%r11)
	jne \long
	SHORT_TARGET %rdi, \long
	movq JMPBUF_SP(%rdi), %rax
	rorq $JMPBUF_ROTATE, %rax
	xorq %fs:JMPBUF_GUARD, %rax
	prefetcht0 (%rax)
	cmpq %rax, STATE_SP(%r10)
	jne \long
	cmpb $HOW_JUMP, STATE_HOW(%r10)
	jne \long
	movq AREA_CURRENT(%r11), %rcx
	movq AREA_SAVED_SLOT(%r11), %rax
	testq %rax, %rax		// it was taken back (makecontext)
	jz \long
	cmpq %rax, %rdi			// its own save
	je \long
	cmpq %rax, STATE_SLOT(%rcx)
	jne \long
	movq AREA_SAVED_SP(%r11), %rdi
	cmpq %rdi, STATE_SP(%rcx)
	jne 17f
	cmpq %rsp, %rdi			// who saved itself has not returned
	jbe 17f
	SHORT_STACK 17f, AREA_SAVED_PC(%r11), 0, %rdi
	SHORT_WRITE HOW_JUMP, %r10, 17f
.endm

.macro SHORT_JUMP_LONG long
17:	movq STATE_SLOT(%r10), %rdi
	jmp \long
.endm
