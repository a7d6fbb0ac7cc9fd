// SPDX-License-Identifier: MIT
//
// machine.h - runs integer instructions of x86-64 on values of which some are not known, from the start of a
// coroutine's resume function: far enough to see by which of the frame's fields it decides where to go on.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frames/x86.h"

enum { MACHINE_FRAME_BYTES = 1 << 20, MACHINE_STORES = 512, MACHINE_REGISTERS = 16 };
#define MACHINE_FRAME 0x0000600000000000ULL // where the frame is said to lie
#define MACHINE_STACK 0x0000700000000000ULL

// A field of the frame; width 0: none.
struct machine_field {
	uint32_t offset, width;
};

struct machine_value {
	bool known;
	uint64_t v;
	struct machine_field of; // the one field that it was made of; width 0: none
	bool mixed;              // it was made of several
};

struct machine_store {
	uint64_t at;
	unsigned bytes;
	struct machine_value value;
};

struct machine_flags {
	struct machine_value by; // what decided them; v is not used
	bool carry, zero, sign, overflow;
	bool all; // else only zero and sign are right
	bool carry_only;
};

struct machine {
	// the program's own memory, as far as it does not change: code and tables
	size_t (*peek)(void *ctx, uint64_t at, void *to, size_t bytes);
	void *ctx;
	struct machine_field field; // whose value is
	uint64_t value;             // this; width 0: no field is known
	// what follows is machine.c's
	struct machine_value r[MACHINE_REGISTERS];
	struct machine_flags flags;
	struct machine_store stores[MACHINE_STORES];
	size_t nstores;
	uint64_t pc;
	uint8_t code[256]; // a window on the code
	uint64_t code_at;
	size_t code_bytes;
};

enum machine_step {
	MACHINE_ON,        // done, pc is the next instruction's
	MACHINE_BRANCHED,  // a jump was decided by `by`, and pc is where it went
	MACHINE_UNDECIDED, // a jump would be decided by `by`, which is not known
	MACHINE_ENDS,      // a call, a return, a trap
	MACHINE_UNKNOWN,   // an instruction that is not known
};

void machine_begin(struct machine *m, uint64_t at);
enum machine_step machine_step(struct machine *m, struct machine_value *by);
