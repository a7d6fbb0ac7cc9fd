// SPDX-License-Identifier: MIT
//
// Looks for the instructions by which known switch functions are found (preload/patch/match.c).
#include "asm.h"

	.text
// const uint8_t *cpu_next_sp(const uint8_t *p, const uint8_t *end): sixteen places at a time. The
// instructions are REX.W 89 (mod 3, rm 4) and REX.W 8b (reg 4), with the prefixes 48, 49, 4c or 4d.
	.p2align 4
	HIDDEN(cpu_next_sp)
	.cfi_startproc
	endbr64
	movdqa 0+constants(%rip), %xmm8
	movdqa 16+constants(%rip), %xmm9
	movdqa 32+constants(%rip), %xmm10
	movdqa 48+constants(%rip), %xmm11
	movdqa 64+constants(%rip), %xmm12
	movdqa 80+constants(%rip), %xmm13
	movdqa 96+constants(%rip), %xmm14
	movdqa 112+constants(%rip), %xmm15
	subq $18, %rsi
1:	cmpq %rsi, %rdi
	ja 3f
	movdqu (%rdi), %xmm0		// prefixes
	movdqu 1(%rdi), %xmm1		// operations
	movdqu 2(%rdi), %xmm2		// operands
	movdqa %xmm1, %xmm3
	movdqa %xmm2, %xmm4
	pand %xmm8, %xmm0
	pcmpeqb %xmm9, %xmm0
	pcmpeqb %xmm10, %xmm1
	pand %xmm11, %xmm2
	pcmpeqb %xmm12, %xmm2
	pand %xmm2, %xmm1
	pcmpeqb %xmm13, %xmm3
	pand %xmm14, %xmm4
	pcmpeqb %xmm15, %xmm4
	pand %xmm4, %xmm3
	por %xmm3, %xmm1
	pand %xmm1, %xmm0
	pmovmskb %xmm0, %eax
	testl %eax, %eax
	jnz 2f
	addq $16, %rdi
	jmp 1b
2:	bsfl %eax, %eax
	addq %rdi, %rax
	ret
3:	leaq 18(%rsi), %rax
	ret
	.cfi_endproc
	END(cpu_next_sp)

	.section .rodata
	.p2align 4
constants:
	.fill 16, 1, 0xfa
	.fill 16, 1, 0x48
	.fill 16, 1, 0x89
	.fill 16, 1, 0xc7
	.fill 16, 1, 0xc4
	.fill 16, 1, 0x8b
	.fill 16, 1, 0x38
	.fill 16, 1, 0x20

	.section .note.GNU-stack, "", @progbits
