// SPDX-License-Identifier: MIT
//
// free_list.h - coroutines that the program has put into a pool of its own while they were suspended, to be
// begun anew later. That is cancellation, and no loss.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// A coroutine to which one word leads, and no other.
struct free_list_member {
	uint64_t at;    // of the word
	uint64_t value; // what stands there: an address in the coroutine's memory
	uint64_t ended; // what it waited for
	bool listed;    // the result
};

enum { FREE_LIST_KEYS = 2 }; // where its context lies, and its stack
#define FREE_LIST_NO_MEMBER UINT32_MAX

// Any coroutine of the program, of now or before.
struct free_list_coroutine {
	uint64_t keys[FREE_LIST_KEYS];
	uint32_t member; // it is this one, or FREE_LIST_NO_MEMBER
	bool living;     // it is suspended or runs, and is no member
};

// Marks the members of free lists: of arrays, and of singly linked lists that begin at a word elsewhere and
// end at a null, with each link at the same place of its member. A free list has at least two members. None
// of them lives, and no two waited for the same descriptor: those would be in a wait queue of it.
void free_list_find(pid_t pid, const struct free_list_coroutine *all, size_t n,
		    struct free_list_member *members);
