// SPDX-License-Identifier: MIT
//
// Looks for the instructions by which known switch functions are found (preload/patch/match.c).
#include "asm.h"

	.text
// const uint8_t *cpu_next_sp(const uint8_t *p, const uint8_t *end): sixteen places at a time. The instructions
// are REX.W 89 (mod 3, rm 4; prefixes 48, 4c) and REX.W 8b (reg 4; prefixes 48, 49).
	.p2align 4
	HIDDEN(cpu_next_sp)
	.cfi_startproc
	endbr64
	movdqa prefix(%rip), %xmm8
	movdqa stored(%rip), %xmm9
	movdqa loaded(%rip), %xmm10
	movdqa stored_form(%rip), %xmm11
	movdqa stored_sp(%rip), %xmm12
	movdqa loaded_form(%rip), %xmm13
	movdqa loaded_sp(%rip), %xmm14
	movdqa stored_mask(%rip), %xmm15
	movdqa loaded_mask(%rip), %xmm7
	subq $18, %rsi
	.p2align 4
1:	cmpq %rsi, %rdi
	ja 3f
	movdqu (%rdi), %xmm0		// prefixes
	movdqu 1(%rdi), %xmm1		// operations
	movdqu 2(%rdi), %xmm2		// operands
	movdqa %xmm0, %xmm3
	movdqa %xmm1, %xmm4
	movdqa %xmm2, %xmm5
	pand %xmm15, %xmm0
	pcmpeqb %xmm8, %xmm0
	pcmpeqb %xmm9, %xmm1
	pand %xmm1, %xmm0
	pand %xmm11, %xmm2
	pcmpeqb %xmm12, %xmm2
	pand %xmm2, %xmm0
	pand %xmm7, %xmm3
	pcmpeqb %xmm8, %xmm3
	pcmpeqb %xmm10, %xmm4
	pand %xmm4, %xmm3
	pand %xmm13, %xmm5
	pcmpeqb %xmm14, %xmm5
	pand %xmm5, %xmm3
	por %xmm3, %xmm0
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

// Which of thirty-two places it is at.
.macro PLACES at, to
	vpcmpeqb 1+\at(%rdi), %ymm9, %ymm1
	vpcmpeqb 1+\at(%rdi), %ymm10, %ymm4
	vpand 2+\at(%rdi), %ymm11, %ymm2
	vpand 2+\at(%rdi), %ymm13, %ymm5
	vpand \at(%rdi), %ymm15, %ymm0
	vpand \at(%rdi), %ymm7, %ymm3
	vpcmpeqb %ymm12, %ymm2, %ymm2
	vpcmpeqb %ymm14, %ymm5, %ymm5
	vpcmpeqb %ymm8, %ymm0, %ymm0
	vpcmpeqb %ymm8, %ymm3, %ymm3
	vpand %ymm1, %ymm2, %ymm2
	vpand %ymm4, %ymm5, %ymm5
	vpand %ymm0, %ymm2, %ymm2
	vpand %ymm3, %ymm5, %ymm5
	vpor %ymm2, %ymm5, \to
.endm

// The same, sixty-four places at a time, where the CPU has AVX2; what is left goes the other way.
	.p2align 4
	HIDDEN(cpu_next_sp_avx2)
	.cfi_startproc
	endbr64
	vmovdqa prefix(%rip), %ymm8
	vmovdqa stored(%rip), %ymm9
	vmovdqa loaded(%rip), %ymm10
	vmovdqa stored_form(%rip), %ymm11
	vmovdqa stored_sp(%rip), %ymm12
	vmovdqa loaded_form(%rip), %ymm13
	vmovdqa loaded_sp(%rip), %ymm14
	vmovdqa stored_mask(%rip), %ymm15
	vmovdqa loaded_mask(%rip), %ymm7
	leaq -66(%rsi), %rcx
	.p2align 4
1:	cmpq %rcx, %rdi
	ja 3f
	PLACES 0, %ymm6
	PLACES 32, %ymm2
	vpor %ymm2, %ymm6, %ymm0
	vpmovmskb %ymm0, %eax
	testl %eax, %eax
	jnz 2f
	addq $64, %rdi
	jmp 1b
2:	vpmovmskb %ymm6, %ecx
	vpmovmskb %ymm2, %eax
	shlq $32, %rax
	orq %rcx, %rax
	bsfq %rax, %rax
	addq %rdi, %rax
	vzeroupper
	ret
3:	vzeroupper
	jmp cpu_next_sp
	.cfi_endproc
	END(cpu_next_sp_avx2)

	.section .rodata
	.p2align 5
prefix:      .fill 32, 1, 0x48
stored:      .fill 32, 1, 0x89	// to a register or to memory
stored_mask: .fill 32, 1, 0xfb
stored_form: .fill 32, 1, 0xc7
stored_sp:   .fill 32, 1, 0xc4
loaded:      .fill 32, 1, 0x8b
loaded_mask: .fill 32, 1, 0xfe
loaded_form: .fill 32, 1, 0x38
loaded_sp:   .fill 32, 1, 0x20

	.section .note.GNU-stack, "", @progbits
