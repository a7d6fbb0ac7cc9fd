// SPDX-License-Identifier: MIT
//
// usdt.h - the arguments of a USDT probe, as its note has them: "-4@%edi 8@8(%rsp) 8@$5". What an operand
// is worth follows from the registers and the end of the stack, as they were when the probe was met.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	USDT_ARGUMENTS = 12,
	USDT_REGISTERS = 24, // numbered as perf_event_open(2) numbers those of x86
	USDT_SP = 7,
};

enum usdt_operand {
	USDT_UNKNOWN, // what a sample does not tell: a vector register, a variable of the program
	USDT_IMMEDIATE,
	USDT_REGISTER,
	USDT_MEMORY,
};

struct usdt_argument {
	uint8_t bytes; // 1, 2, 4 or 8
	bool is_signed, is_float;
	uint8_t operand;            // enum usdt_operand
	uint8_t base, index, scale; // registers; an index of scale 0 is none
	uint8_t shift, width;       // of a register: where its part begins, and how many bits it has
	int64_t number;             // an immediate; of memory, what is added
	const char *text;           // the operand, as it stands in the note
	unsigned text_bytes;
};

struct usdt_state {
	uint64_t regs[USDT_REGISTERS];
	const unsigned char *stack; // from the stack pointer on
	size_t stack_bytes;
};

// Takes the next argument from *at on. False: there is none. One that is not understood has 0 bytes.
bool usdt_next(const char **at, struct usdt_argument *a);
// Which registers the operand asks for, by bit.
uint64_t usdt_registers(const struct usdt_argument *a);
// How far above the stack pointer the operand lies; 0: not in the stack, SIZE_MAX: it is not known before.
size_t usdt_depth(const struct usdt_argument *a);
// What it was worth. False: that is not known.
bool usdt_value(const struct usdt_argument *a, const struct usdt_state *s, uint64_t *value);
