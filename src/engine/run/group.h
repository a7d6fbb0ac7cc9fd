// SPDX-License-Identifier: MIT
//
// group.h - was a signal sent to our whole process group? Then the program, which is in it, got it as well,
// and it must not be passed on.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct group {
	int pid;            // of the process in the group that reports signals; 0: there is none
	int stack;          // which of two it has
	uint64_t heard;     // signals, bit sig - 1: the group got them, and nobody has asked yet
	uint64_t forget_ns; // when `heard` is cleared; 0: never
};

void group_begin(struct group *g); // *g is zeroed at first
void group_end(struct group *g);
// Has the group got this signal, which has come here? Waits some milliseconds for the answer "yes".
bool group_got(struct group *g, int sig, uint64_t now_ns);
// At each turn of the loop.
void group_turn(struct group *g, uint64_t now_ns);
