// SPDX-License-Identifier: MIT
//
// The guest's own memcpy and its like, bound inside the library: those that a
// program has may be a sanitizer's, which would watch our tables as if they
// were the program's memory (ThreadSanitizer: data races, exit status 66).
#include "asm.h"

	.text
	.p2align 4
	HIDDEN(memcpy)
	.cfi_startproc
	endbr64
	movq %rdi, %rax
	movq %rdx, %rcx
	rep movsb
	ret
	.cfi_endproc
	END(memcpy)

	.p2align 4
	HIDDEN(memset)
	.cfi_startproc
	endbr64
	movq %rdi, %r8
	movl %esi, %eax
	movq %rdx, %rcx
	rep stosb
	movq %r8, %rax
	ret
	.cfi_endproc
	END(memset)

	.p2align 4
	HIDDEN(memcmp)
	.cfi_startproc
	endbr64
	xorl %eax, %eax
	xorl %ecx, %ecx
1:	cmpq %rcx, %rdx
	je 2f
	movzbl (%rdi,%rcx), %eax
	movzbl (%rsi,%rcx), %r8d
	incq %rcx
	subl %r8d, %eax
	jz 1b
2:	ret
	.cfi_endproc
	END(memcmp)

	.p2align 4
	HIDDEN(strncmp)
	.cfi_startproc
	endbr64
	xorl %eax, %eax
	xorl %ecx, %ecx
1:	cmpq %rcx, %rdx
	je 2f
	movzbl (%rdi,%rcx), %eax
	movzbl (%rsi,%rcx), %r8d
	incq %rcx
	movl %eax, %r9d
	subl %r8d, %eax
	jnz 2f
	testl %r9d, %r9d
	jnz 1b
2:	ret
	.cfi_endproc
	END(strncmp)

	.p2align 4
	HIDDEN(strlen)
	.cfi_startproc
	endbr64
	movq $-1, %rax
1:	incq %rax
	cmpb $0, (%rdi,%rax)
	jne 1b
	ret
	.cfi_endproc
	END(strlen)

	.section .note.GNU-stack, "", @progbits
