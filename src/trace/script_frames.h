// SPDX-License-Identifier: MIT
//
// script_frames.h - functions of scripts in which coroutines are suspended (spec/trace.md, "scripts.jsonl").
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"

// In a stack, the number of such a frame stands where others have a return address: above all code.
#define SCRIPT_PC 0x5c00000000000000ULL

struct script_frame {
	char *name, *file; // fit for a terminal; file NULL: the interpreter's own function
	uint32_t line;     // 0: not known
	uint64_t at;
};

struct script_frames {
	struct script_frame *v;
	size_t n, capacity;
	struct intern frames, stacks; // those that are known
	uint32_t *stack;              // by number in `stacks`: ids as in slices.h
	size_t nstacks, stacks_capacity;
	struct idmap by_id; // entity id -> id of its stack, with the recorded one's frames below
	uint64_t bad_lines;
};

struct image;
// Of an image whose tables are there; stacks go to m->slices. No file: nothing. 0 or -errno.
int script_frames_read(struct image *m, int folder, const char *name);
void script_frames_deinit(struct script_frames *s);
