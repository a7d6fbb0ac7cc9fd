// SPDX-License-Identifier: MIT
//
// why.h - which descriptors keep a coroutine.
#pragma once

#include "ps/read/fds.h"
#include "ps/read/groups.h"
#include "ps/read/tables.h"

enum { WHY_MOST = 8 };

struct why_fd {
	int32_t fd;
	uint32_t gen, events;
	bool waits; // it waits for it; false: only its registration leads there, or its place in a polled set
	bool present; // what `row` says of it is of this generation
	const struct ctp_fd *row;
	bool polled;  // poll or select is given it
	uint32_t tid; // by the thread that waits for it now; 0: none does, or it is not known
};

struct why; // who is led to, by descriptor

int why_new(struct why **out, const struct fds *f, const struct tables *t); // 0 or -ENOMEM
void why_free(struct why *w);
// Fills `out`, what it waits for first; how many.
size_t why_of(const struct why *w, const struct tables *t, const struct coroutine *c,
	      struct why_fd out[WHY_MOST]);
