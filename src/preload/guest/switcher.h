// SPDX-License-Identifier: MIT
//
// switcher.h - a switch function that cannot be interposed: what is known of its body (a row of
// switchers.def), and one such function in one module of the program (an instance), whose
// entry leads to a trampoline of ours. The assembly code knows the first words of an instance.
#pragma once

// struct switcher (asserted in patch/exported.c)
#define SWITCHER_ENTRY 0
#define SWITCHER_REAL 8
#define SWITCHER_BYTES 16
#define SWITCHER_SP_AT 24
#define SWITCHER_CALLER 40
#define SWITCHER_TURN 48

// Names that some libraries call their switch functions by (patch/exported.c): their numbers
#define EXPORTED_NAMES 9

// How an entry is overwritten: movabs $instance, %rax; jmp *(%rax)
#define SWITCHER_ENTRY_BYTES 12
#define SWITCHER_PREFIX_MOST 16
// A piece of the pool: the instructions that the entry has displaced, and a jump behind it
#define SWITCHER_PIECE 32
#define SWITCHERS_MOST 256

#ifndef __ASSEMBLER__

#include <stdbool.h>
#include <stdint.h>

// How it is called. In all but the last five the suspended context lies on its own stack: a
// *handle* is its stack pointer, and `bytes` above it is where the caller goes on.
enum switcher_family {
	SWITCHER_HANDLE = 1, // (handle, data)
	SWITCHER_ONTOP,      // (handle, data, function that runs on top of it)
	SWITCHER_FROM,       // (where the caller's handle is stored, handle, ...)
	SWITCHER_ENTER,      // (anything, handle, ...): the caller is not saved, and ends
	SWITCHER_SLOT,       // (where the caller's handle is stored, where the other's is)
	SWITCHER_SLOT_BACK,  // the same, the other way round
	SWITCHER_HELPER, // (helper, a, b, handle): helper(caller's handle, a, b) runs on the other's stack
	SWITCHER_STRUCT, // (where the caller's registers are stored, where the other's are): the stack
			 // pointer at sp_at, less `bytes`, the address where it goes on at pc_at
	SWITCHER_SAVE,   // (where the caller's registers are stored), as setjmp; RESTORE is its longjmp
	SWITCHER_RESTORE,
	SWITCHER_MAKE,     // (top of the stack, size, function): the handle of a new context
	SWITCHER_GREENLET, // (result, the other): stacks are copied; where the other's begins is at sp_at, 0:
			   // it does not run yet, or no more; where it ends at pc_at, -1: the thread's own
};

struct switcher_row {
	const char *kind;
	uint8_t family, hole, anchor_at, prefix;
	uint8_t bytes, sp_at, pc_at;
	uint16_t length;
	uint32_t anchor;
	uint64_t hash;
};

struct switcher {
	void (*entry)(void); // where a call goes
	void (*real)(void);  // the function behind it: a piece of the pool
	uint64_t bytes, sp_at, pc_at;
	uint64_t caller, turn; // of what only some modules see: who called it last, and real_turn then
	uint32_t family;
	uint32_t function; // ctp_state.function
	uint8_t *at;       // the patched function; NULL: this instance is free
	const struct switcher_row *row;
};

#endif
