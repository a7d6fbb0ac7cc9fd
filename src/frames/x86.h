// SPDX-License-Identifier: MIT
//
// x86.h - takes one x86-64 instruction apart: its length, its opcode, its operands.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { X86_LONGEST = 15, X86_NO_REGISTER = 0xff };
enum x86_map { X86_ONE_BYTE, X86_0F, X86_0F38, X86_0F3A };

struct x86 {
	uint8_t length;
	uint8_t map, opcode;
	uint8_t size;   // of the operands, in bytes, where the opcode does not say one byte: 2, 4 or 8
	uint8_t repeat; // 0xf2, 0xf3 or 0
	bool vex;       // VEX or EVEX: vector registers, or bit manipulation
	bool rex;       // with it, byte registers 4 to 7 are the low bytes of rsp to rdi
	bool segment;   // fs or gs: the address is not known
	bool has_modrm, memory;
	uint8_t reg, rm;     // register numbers; reg is part of the opcode in groups; rm if !memory
	uint8_t base, index; // of memory; X86_NO_REGISTER: none
	uint8_t scale;
	bool rip; // relative to the next instruction
	int64_t displacement;
	int64_t immediate; // also what a jump adds to the next instruction's address
	uint8_t immediate_bytes;
};

// False: the bytes are no instruction that is known, or too few.
bool x86_decode(const uint8_t *bytes, size_t n, struct x86 *out);
