// SPDX-License-Identifier: MIT
// clang-format off
//
// fast_stack.h - x86_64: on the fast path of a switch (fast_path.h), which stack the outgoing coroutine
// leaves, and whether all that its name depends on is as it was. In the order of coroutine/stacks.c. r9 is
// the candidate.

// The outgoing coroutine is where it was the time before, all of whose words that matter are as they were
// (stacks.h): so its stack is the same. rdx, rax are changed. It stands `above` the register
// `base`, and goes on at `pc`.
.macro FAST_STACK pc=(%rsp), above=8, base=%rsp
	movq STATE_LAST(%rcx), %r9
	movq \pc, %rax
	cmpq %rax, CANDIDATE_PLAIN(%r9)
	jne 12f
	movl CANDIDATE_LAST_ABSOLUTE(%r9), %eax
11:	FAST_TWO 30f, \above, \base
	jns 11b
16:
.endm

// Two return addresses that candidate r9 depends on, the rax'th and the one before it: else `no`. Both behind
// it are next.
.macro FAST_TWO no, above, base
	movq CANDIDATE_CHECKS+8(%r9,%rax,8), %rdx
	movq \above(\base,%rdx), %rdx
	cmpq %rdx, CANDIDATE_CHECKS(%r9,%rax,8)
	jne \no
	movq CANDIDATE_CHECKS+8-CHECK_BYTES(%r9,%rax,8), %rdx
	movq \above(\base,%rdx), %rdx
	cmpq %rdx, CANDIDATE_CHECKS-CHECK_BYTES(%r9,%rax,8)
	jne \no
	subl $4, %eax
.endm

// As seen from where the coroutine stands.
.macro FAST_DEPTH address, above, base
	subq \base, \address
.if \above
	subq $\above, \address
.endif
.endm

// Whether all that candidate r9 depends on but its place is so: else `no`. rdx, rax are changed.
.macro FAST_HOLDS no, above=8, base=%rsp, fp=%rbp
	cmpb $0, CANDIDATE_FP(%r9)
	je 21f
	movq \fp, %rax
	FAST_DEPTH %rax, \above, \base
	cmpq %rax, CANDIDATE_FP_VAL(%r9)
	jne \no
21:	movslq CANDIDATE_LAST(%r9), %rax
	cmpl %eax, CANDIDATE_LAST_ABSOLUTE(%r9)
	je 24f
22:	movq CANDIDATE_CHECKS+8(%r9,%rax,8), %rdx
	movq \above(\base,%rdx), %rdx
	FAST_DEPTH %rdx, \above, \base
	cmpq %rdx, CANDIDATE_CHECKS(%r9,%rax,8)
	jne \no
	subl $2, %eax
	cmpl %eax, CANDIDATE_LAST_ABSOLUTE(%r9)
	jne 22b
24:	testl %eax, %eax
	js 25f
23:	FAST_TWO \no, \above, \base
	jns 23b
25:
.endm

// The rest of it, behind the way out: where frames were told by frame pointers, too.
.macro FAST_STACK_FP above=8, base=%rsp, fp=%rbp
12:	cmpq %rax, CANDIDATE_PC(%r9)
	jne 30f
	FAST_HOLDS 30f, \above, \base, \fp
	jmp 16b
.endm

// Stack edx. Equal: nobody has gone on from there.
.macro FAST_RESUMED
	shlq $SITE_SHIFT, %rdx
	addq CTX_SITES(%r11), %rdx
	cmpl $0, SITE_RESUMED(%rdx)
.endm

// The outgoing coroutine is at another place than the time before, was called from elsewhere, or saves itself
// elsewhere (`slot`; rdi is changed). The candidate by which stacks_id would name its stack; and it is known
// already that one goes on from where it had left before.
.macro FAST_ELSEWHERE how, long, slot, pc=(%rsp), above=8, base=%rsp
30:
.ifc \slot, %rdi
	movq %rdi, CTX_SAVES_AT(%r11)
.endif
	leaq \above(\base), %rax
	cmpq %rax, STATE_OTHER_SP(%rcx)	// where it left the time before the last, and so on in turn
	jne 37f
	movq STATE_OTHER(%rcx), %r9
	movq \pc, %rdx
	cmpq %rdx, CANDIDATE_PLAIN(%r9)
	jne 38f
	movl CANDIDATE_LAST_ABSOLUTE(%r9), %eax
26:	FAST_TWO 37f, \above, \base
	jns 26b
27:	movq STATE_SP(%rcx), %rdx
39:	movq STATE_LAST(%rcx), %rax
	movq %rax, STATE_OTHER(%rcx)
	movq %rdx, STATE_OTHER_SP(%rcx)
33:	movq %r9, CTX_CANDIDATE(%r11)
.ifc \slot, %rdi
	movq %rdi, %rax
.else
.ifb \slot
	leaq 8(%rsp), %rax
	subq fcontext_bytes(%rip), %rax
.else
.ifc \slot, instance
	movq CTX_INSTANCE(%r11), %rdx
	leaq 8(%rsp), %rax
	subq SWITCHER_BYTES(%rdx), %rax
.else
	movq \slot, %rax
.endif
.endif
	movq %rax, CTX_SAVES_AT(%r11)
.endif
	cmpq %rax, STATE_SLOT(%rcx)
	je 35f
	// It was found by that slot before, and nobody else is: who had saved itself there has lost it then.
	testb $1, HOW_SHARED(%rcx)
	jnz \long
	imulq $HANDLE_CACHE_FACTOR, %rax, %rdx
	shrq $HANDLE_CACHE_SHIFT, %rdx
	andl handle_cache_mask(%rip), %edx
	addq handle_cache_table(%rip), %rdx
	movq (%rdx), %rdi
	xorq $8, %rdx
	movq (%rdx), %rdx
	cmpq %rdi, %rcx
	je 34f
	cmpq %rdx, %rcx
	jne \long
	movq %rdi, %rdx
34:	cmpq %rax, STATE_SLOT(%rdx)
	je \long
35:
.endm

// The rest of it, behind the way out: the place is not that of the time before the last, or its candidate
// depends on more than return addresses.
.macro FAST_SEARCH long, pc=(%rsp), above=8, base=%rsp, fp=%rbp
37:	leaq \above(\base), %rax
	cmpq %rax, STATE_LO(%rcx)	// on another's stack, a signal's; or its own's end is not known
	ja \long
	movq STATE_TOP(%rcx), %rdx
	subq %rax, %rdx
	movq %rdx, CTX_DEPTH(%r11)
	shlq $STACKS_DEPTH_SHIFT, %rdx
	xorq \pc, %rdx
	movabsq $STACKS_FACTOR, %rax
	imulq %rax, %rdx
	shrq $STACKS_SHIFT, %rdx
	movq stacks_buckets(%rip), %rax
	movq (%rax,%rdx,8), %r9
	jmp 32f
31:	movq CANDIDATE_NEXT(%r9), %r9
32:	testq %r9, %r9
	jz \long
	movq \pc, %rax
	cmpq %rax, CANDIDATE_PC(%r9)
	jne 31b
	movq CTX_DEPTH(%r11), %rax
	cmpq %rax, CANDIDATE_DEPTH(%r9)
	jne 31b
	FAST_HOLDS 31b, \above, \base, \fp
	cmpq %r9, STATE_LAST(%rcx)	// it saves itself elsewhere, no more
	je 33b
	movl STATE_STACK(%rcx), %edx
	testl %edx, %edx
	jz 33b
	FAST_RESUMED
	je \long
	movl CANDIDATE_STACK(%r9), %edx
	FAST_RESUMED
	movl $0, %edx
	je 39b
	movq STATE_SP(%rcx), %rdx
	jmp 39b
38:	cmpq %rdx, CANDIDATE_PC(%r9)
	jne 37b
	FAST_HOLDS 37b, \above, \base, \fp
	jmp 27b
.endm
