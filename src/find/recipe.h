// SPDX-License-Identifier: MIT
//
// recipe.h - what a function that switches stacks leaves behind: where the return address and the
// registers of whoever calls it are afterwards, learned from its machine code.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctp/ctp.h"

enum recipe_where {
	RECIPE_NOWHERE,
	RECIPE_STACK, // at an offset from the saved stack pointer
	RECIPE_BLOCK, // at an offset from the word that holds the saved stack pointer
};

struct recipe_place {
	enum recipe_where where;
	int32_t off;
};

struct recipe {
	struct recipe_place regs[CTP_REGS]; // by enum ctp_reg; of CTP_REG_PC the return address
	int32_t sp;                         // the caller's stack pointer after the call, from the saved one
	bool returns;                       // it only saves, as setjmp does; another function restores
};

enum { RECIPE_CODE_MOST = 192 };

// Simulates the code of a function from its first byte on. True: it saves all that a called function
// must preserve, loads another stack pointer, and leaves through that stack; or it saves all that, its stack
// pointer and its return address in the block that its first argument names, and returns: another function
// restores it (State Threads).
bool recipe_learn(const unsigned char *code, size_t bytes, struct recipe *out);
// Does an instruction begin here that loads the stack pointer from elsewhere? What follows must not
// be anything but restoring registers and leaving.
bool recipe_may_switch(const unsigned char *code, size_t bytes);
// Does code that begins by storing the stack pointer load another one, in a straight line? Where it was put
// into memory, that is enough (the rest may be part of any function); where into a register, it must restore
// and leave, too.
bool recipe_switches(const unsigned char *code, size_t bytes);
