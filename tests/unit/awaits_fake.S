// SPDX-License-Identifier: MIT
//
// Debug information of a unit "fake" by hand: coroutine functions in which await_suspend was inlined at one place, at
// several, at none, within one that was inlined itself, and by the name that Clang 17 and later give it.

	.macro str text
	.asciz "\text"
	.endm

	.macro function number // a subprogram with children; its name follows
	.uleb128 2
	.8byte code_\number
	.8byte 16
	.endm

	.macro await at, line // an await_suspend that was inlined
	.uleb128 4
	.4byte suspend - unit
	.8byte \at
	.8byte 1
	.byte \line
	.endm

	.macro end
	.byte 0
	.endm

	.text
	.globl fake_one, fake_same, fake_inner, fake_wrapped
code_1:	nop
fake_one: .fill 15, 1, 0x90
code_2:	.fill 16, 1, 0x90
code_3:	nop
fake_same: .fill 15, 1, 0x90
code_4:	.fill 16, 1, 0x90
code_5:	.fill 16, 1, 0x90
code_6:	nop
fake_inner: .fill 15, 1, 0x90
code_7:	nop
fake_wrapped: .fill 15, 1, 0x90

	.section .debug_abbrev, "", %progbits
abbrev:
	.uleb128 1, 0x11 // compile_unit
	.byte 1
	.uleb128 0x03, 0x08, 0, 0 // name: string
	.uleb128 2, 0x2e // subprogram
	.byte 1
	.uleb128 0x11, 0x01, 0x12, 0x07, 0x6e, 0x08, 0, 0 // low_pc, high_pc: data8, linkage_name
	.uleb128 3, 0x2e // abstract
	.byte 0
	.uleb128 0x03, 0x08, 0x6e, 0x08, 0, 0 // name, linkage_name
	.uleb128 4, 0x1d // inlined_subroutine
	.byte 0
	.uleb128 0x31, 0x13, 0x11, 0x01, 0x12, 0x07, 0x59, 0x0b, 0, 0 // abstract_origin: ref4, low_pc, high_pc, call_line: data1
	.uleb128 5, 0x0b // lexical_block
	.byte 1
	.uleb128 0, 0
	.uleb128 6, 0x1d // inlined_subroutine, with children
	.byte 1
	.uleb128 0x31, 0x13, 0x11, 0x01, 0x12, 0x07, 0x59, 0x0b, 0, 0
	.byte 0

	.section .debug_info, "", %progbits
unit:
	.4byte unit_end - unit - 4
	.2byte 4
	.4byte abbrev
	.byte 8
	.uleb128 1
	str "fake"
suspend:
	.uleb128 3
	str "await_suspend"
	str "_ZN8readable13await_suspendEv"
wrapper:
	.uleb128 3
	str ""
	str "_Z7wrappedv.__await_suspend_wrapper__await"
inner:
	.uleb128 3
	str "inner"
	str "_Z5innerv"

	function 1
	str "_Z3onev"
	.uleb128 5
	await fake_one, 10
	end
	end

	function 2
	str "_Z3twov"
	await code_2, 10
	await code_2, 12
	end

	function 3
	str "_Z4samev"
	await fake_same, 20
	await code_3, 20
	end

	function 4
	str "_Z4nonev"
	end

	function 5
	str "_Z5plainv" // calls one; what is inlined there is not its own
	.uleb128 6
	.4byte suspend - unit
	.8byte code_5
	.8byte 1
	.byte 0 // at no line
	end
	end

	function 6
	str "_Z5outerv"
	.uleb128 6
	.4byte inner - unit
	.8byte code_6
	.8byte 8
	.byte 30
	await fake_inner, 31
	end
	end

	function 7
	str "_Z7wrappedv"
	.uleb128 4
	.4byte wrapper - unit
	.8byte fake_wrapped
	.8byte 1
	.byte 40
	end

	end
unit_end:
	.section .note.GNU-stack, "", %progbits
