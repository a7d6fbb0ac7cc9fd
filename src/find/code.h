// SPDX-License-Identifier: MIT
//
// code.h - what the machine code of an object calls and jumps to, and where it loads a stack pointer.
#pragma once

#include "find/objects.h"

enum code_kind {
	CODE_CALL,      // target: the function
	CODE_JUMP,      // the same, by a jump
	CODE_CALL_SLOT, // target: the address of the word that holds the function's
	CODE_JUMP_SLOT,
	CODE_STACK, // it loads a stack pointer (recipe_may_switch); target: none
	CODE_LABEL, // it stores the address `target` at offset `off` of a block
};

struct code_hit {
	enum code_kind kind;
	uint64_t at, next; // the instruction, and what follows it
	uint64_t target;
	int32_t off;
};

struct code_visitor {
	void *ctx;
	unsigned wanted; // bits of 1 << kind
	void (*hit)(void *ctx, const struct code_hit *h);
};

// All of an object's code that can be read. Data within it may look like code. 0 or -ENOMEM.
int code_scan(const struct image *im, const struct object *o, const struct code_visitor *v);
// Of the call before a return address: the function called, if it is a direct call or one by a slot that
// the object's code names. False: there is no call. *target 0: an indirect one.
bool code_call_before(const struct image *im, uint64_t return_address, uint64_t *target);
// Where a stub of a procedure linkage table leads; `addr` itself if it is none.
uint64_t code_through_stub(const struct image *im, uint64_t addr);
// The code of a function, as image_peek: where libctp.so has patched its entry (preload/patch), as it was
// before.
size_t code_peek(const struct image *im, uint64_t addr, unsigned char *to, size_t bytes);
