// SPDX-License-Identifier: MIT
//
// places.h - file and line of where coroutines of one process are suspended. Debug information may be large,
// and rings must not wait: a child of ctp-run reads it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "ctp/region.h"

#define PLACES_TEXT 160

struct places_one {
	uint32_t stack; // 0: none was recorded, and `pc` is all there is
	uint64_t pc;
	enum { PLACES_WANTED, PLACES_ASKED, PLACES_KNOWN } is;
	char text[PLACES_TEXT]; // as ctp-ps shows it; without debug information as metrics do; "" if not even
				// that
};

struct places {
	const struct ctp_region *r;
	pid_t pid;
	struct places_one *v;
	size_t n, room;
	bool looks;      // a child does:
	int from, child; // its pipe, and its pidfd, or -1
	char said[64 * PLACES_TEXT];
	size_t have;
};

// *r must outlive it.
void places_init(struct places *p, const struct ctp_region *r, pid_t pid);
// Takes a zeroed one, too.
void places_deinit(struct places *p);
// Where such a coroutine is suspended. NULL: not known yet; the next turns will tell.
const char *places_of(struct places *p, const struct ctp_state *s);
// The same at once, by what is known.
void places_plain(const struct places *p, const struct ctp_state *s, char *out, size_t bytes);
// Asks for those that are wanted; takes an answer that has come. Cheap.
void places_turn(struct places *p);
