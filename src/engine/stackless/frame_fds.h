// SPDX-License-Identifier: MIT
//
// frame_fds.h - the registered descriptors whose numbers stand in the frames of coroutines.
#pragma once

#include "engine/inspect/inspect.h"
#include "frames/stackless.h"

struct frame_fds {
	struct frame_fd { // by number
		int fd;
		bool armed;      // an event of it may come
		uint64_t closed; // when the one before of this number was, in ticks
		uint64_t event;  // the last one that came
		uint64_t leads;  // to which coroutine's frame its registration leads; 0: that is not known
	} * v;
	size_t n;
};

struct frame_fd_answer {
	bool armed;
	uint64_t event;
};

// `leads` says of a registration's data to which frame that leads.
void frame_fds_init(struct frame_fds *f, const struct inspection *l,
		    uint64_t (*leads)(void *ctx, uint64_t data), void *ctx);
// Of the descriptors whose numbers stand in this frame; not of one whose number was handed out again since
// the coroutine was made (0: not known). An event that leads to another coroutine is not this one's.
struct frame_fd_answer frame_fds_of(const struct frame_fds *f, const struct inspection *l,
				    const struct stackless *s, uint64_t created);
void frame_fds_deinit(struct frame_fds *f);
// When an event came last, in ticks; or when a set was last given to poll or select.
uint64_t frame_fds_last_event(const struct inspection *l);
