// SPDX-License-Identifier: MIT
//
// Switch functions as coroutine libraries have them in their own code, one of each family, and
// instruction for instruction what src/preload/patch/switchers.def describes. Nothing here has
// the library's name, so only its code tells what it is.

#define FUNCTION(name) .globl name; .hidden name; .type name, @function; .p2align 4; name:
#define END(name) .size name, . - name

// One instruction for each register, in this order.
.macro PUSH regs:vararg
	.irp reg, \regs
	pushq %\reg
	.endr
.endm
.macro POP regs:vararg
	.irp reg, \regs
	popq %\reg
	.endr
.endm

	.text

// libcoro: void sw_slot(void **from, void **to)
FUNCTION(sw_slot)
	PUSH rbp, rbx, r12, r13, r14, r15
	movq %rsp, (%rdi)
	movq (%rsi), %rsp
	POP r15, r14, r13, r12, rbx, rbp, rcx
	jmp *%rcx
END(sw_slot)

// Ruby 3.4: void sw_moved(void **from, void **to)
FUNCTION(sw_moved)
	subq $48, %rsp
	movq %rbp, 40(%rsp)
	movq %rbx, 32(%rsp)
	movq %r12, 24(%rsp)
	movq %r13, 16(%rsp)
	movq %r14, 8(%rsp)
	movq %r15, (%rsp)
	movq %rsp, (%rdi)
	movq (%rsi), %rsp
	movq 40(%rsp), %rbp
	movq 32(%rsp), %rbx
	movq 24(%rsp), %r12
	movq 16(%rsp), %r13
	movq 8(%rsp), %r14
	movq (%rsp), %r15
	addq $48, %rsp
	movq %rdi, %rax
	ret
END(sw_moved)

.macro SAVE_BELOW
	PUSH rbp, rbx, r15, r14, r13, r12
	leaq -8(%rsp), %rsp
.endm

.macro TAKE_BACK
	leaq 8(%rsp), %rsp
	POP r12, r13, r14, r15, rbx, rbp, r8
.endm

// Boost.Context 1.56, bthreads: long sw_flag(void **from, void *to, long data, long floats)
FUNCTION(sw_flag)
	SAVE_BELOW
	cmp $0, %rcx
	je 1f
	stmxcsr (%rsp)
	fnstcw 4(%rsp)
1:	movq %rsp, (%rdi)
	movq %rsi, %rsp
	cmp $0, %rcx
	je 2f
	ldmxcsr (%rsp)
	fldcw 4(%rsp)
2:	TAKE_BACK
	movq %rdx, %rax
	movq %rdx, %rdi
	jmp *%r8
END(sw_flag)

// Argobots 1.0: void sw_floats(void **from, void *to, long data), and sw_enter, which does not save its caller
FUNCTION(sw_floats)
	SAVE_BELOW
	stmxcsr (%rsp)
	fnstcw 4(%rsp)
	movq %rsp, (%rdi)
	movq %rsi, %rsp
	ldmxcsr (%rsp)
	fldcw 4(%rsp)
	TAKE_BACK
	movq %rdx, %rdi
	jmp *%r8
END(sw_floats)

FUNCTION(sw_enter)
	movq %rsi, %rsp
	ldmxcsr (%rsp)
	fldcw 4(%rsp)
	TAKE_BACK
	movq %rdx, %rdi
	jmp *%r8
END(sw_enter)

// libco: void sw_slot_back(void **to, void **from); eight words behind the stack pointer are registers
FUNCTION(sw_slot_back)
	movq %rsp, (%rsi)
	movq (%rdi), %rsp
	popq %rax
	movq %rbp, 8(%rsi)
	movq %rbx, 16(%rsi)
	movq %r12, 24(%rsi)
	movq %r13, 32(%rsi)
	movq %r14, 40(%rsi)
	movq %r15, 48(%rsi)
	movq 8(%rdi), %rbp
	movq 16(%rdi), %rbx
	movq 24(%rdi), %r12
	movq 32(%rdi), %r13
	movq 40(%rdi), %r14
	movq 48(%rdi), %r15
	jmp *%rax
END(sw_slot_back)

// As people write them, in any order: void sw_order(void **from, void *to)
FUNCTION(sw_order)
	endbr64
	PUSH r15, rbx, rbp, r14, r12, r13
	movq %rsp, (%rdi)
	movq %rsi, %rsp
	POP r13, r12, r14, rbp, rbx, r15
	ret
END(sw_order)

// void sw_order_slot(void **from, void **to)
FUNCTION(sw_order_slot)
	PUSH r12, rbx, rbp, r13, r14, r15
	movq %rsp, (%rdi)
	movq (%rsi), %rsp
	POP r15, r14, r13, rbp, rbx, r12, rcx
	jmp *%rcx
END(sw_order_slot)

// D: void sw_from(void **from, void *to)
FUNCTION(sw_from)
	pushq %rbp
	movq %rsp, %rbp
	PUSH rbx, r12, r13, r14, r15
	movq %rsp, (%rdi)
	movq %rsi, %rsp
	POP r15, r14, r13, r12, rbx, rbp, rcx
	jmp *%rcx
END(sw_from)

// libaco: void *sw_struct(void *from, void *to); r12 to r15, pc, sp, rbx, rbp, control words
FUNCTION(sw_struct)
	movq (%rsp), %rdx
	leaq 8(%rsp), %rcx
	movq %r12, (%rdi)
	movq %r13, 8(%rdi)
	movq %r14, 16(%rdi)
	movq %r15, 24(%rdi)
	movq %rdx, 32(%rdi)
	movq %rcx, 40(%rdi)
	movq %rbx, 48(%rdi)
	movq %rbp, 56(%rdi)
	fnstcw 64(%rdi)
	stmxcsr 68(%rdi)
	movq (%rsi), %r12
	movq 8(%rsi), %r13
	movq 16(%rsi), %r14
	movq 24(%rsi), %r15
	movq 32(%rsi), %rax
	movq 40(%rsi), %rcx
	movq 48(%rsi), %rbx
	movq 56(%rsi), %rbp
	fldcw 64(%rsi)
	ldmxcsr 68(%rsi)
	movq %rcx, %rsp
	jmp *%rax
END(sw_struct)

// State Threads: int sw_save(void *regs), void sw_restore(void *regs, int value); rbx, rbp, r12 to r15, sp, pc
FUNCTION(sw_save)
	movq %rbx, (%rdi)
	movq %rbp, 8(%rdi)
	movq %r12, 16(%rdi)
	movq %r13, 24(%rdi)
	movq %r14, 32(%rdi)
	movq %r15, 40(%rdi)
	leaq 8(%rsp), %rdx
	movq %rdx, 48(%rdi)
	movq (%rsp), %rax
	movq %rax, 56(%rdi)
	xorq %rax, %rax
	ret
END(sw_save)

FUNCTION(sw_restore)
	movq (%rdi), %rbx
	movq 8(%rdi), %rbp
	movq 16(%rdi), %r12
	movq 24(%rdi), %r13
	movq 32(%rdi), %r14
	movq 40(%rdi), %r15
	testl %esi, %esi
	movl $1, %eax
	cmovel %eax, %esi
	movl %esi, %eax
	movq 56(%rdi), %rdx
	movq 48(%rdi), %rsp
	jmp *%rdx
END(sw_restore)

// QuickThreads: void *sw_helper(void *(*helper)(void *from, void *, void *), void *, void *, void *to)
FUNCTION(sw_helper)
	pushq %rbp
	movq %rsp, %rbp
	subq $8, %rsp
	PUSH r12, r13, r14, r15, rbx, rcx, rdx, rdi, rsi
	movq %rdi, %rax
	movq %rsp, %rdi
	movq %rcx, %rsp
	movq %rcx, %rbp
	addq $80, %rbp
	call *%rax
	POP rsi, rdi, rdx, rcx, rbx, r15, r14, r13, r12
	leave
	ret
END(sw_helper)

// Where contexts of co_patched.c begin: rbx is their coroutine.
	.cfi_startproc
	.cfi_undefined rip
	nop
FUNCTION(sw_entry)
	andq $-16, %rsp
	movq %rbx, %rdi
	call co_body
	ud2
END(sw_entry)
	.cfi_endproc

	.section .note.GNU-stack, "", @progbits
