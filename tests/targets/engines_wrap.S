// SPDX-License-Identifier: MIT
//
// engines_wrap.S - for ld's --wrap: counts the calls of Boost.Context's
// functions that are made in the program, and passes each on as it is.
	.macro WRAP name
	.text
	.globl __wrap_\name
	.type __wrap_\name, @function
__wrap_\name:
	.cfi_startproc
	lock incq calls_of_\name(%rip)
	jmp __real_\name@PLT
	.cfi_endproc
	.size __wrap_\name, . - __wrap_\name
	.bss
	.p2align 3
	.globl calls_of_\name
calls_of_\name:
	.zero 8
	.endm

	WRAP make_fcontext
	WRAP jump_fcontext
	WRAP ontop_fcontext
	.section .note.GNU-stack, "", @progbits
