// SPDX-License-Identifier: MIT
//
// watch_frames.h - coroutines of a process that no table names, found by search: rows of the same list.
#pragma once

#include "ps/listing/search_rows.h"
#include "ps/read/find.h"
#include "ps/watch/watch_model.h"
#include "ps/watch/watch_page.h"

struct watch_frames {
	struct listing listing; // those of the last inspection
	struct stackless_kept kept;
	struct watch_frame_seen {
		uint64_t id, at, since;
	} * seen; // how they stood then, by id
	size_t nseen;
	uint32_t modules; // as of when the code was read
};

void watch_frames_close(struct watch_frames *f);
// Looks for them, and adds them to the model. *anew: all that was known of names and stacks counts no more. 0
// or -ENOMEM; of one that may not be read there are none.
int watch_frames_look(struct watch_frames *f, struct watch_model *m, const struct found *found,
		      uint32_t modules, bool *anew);
// Looks for all that a process has which nobody traces. 0 or -errno, if it ends meanwhile too: then all is as
// it was found before.
int watch_frames_search(struct watch_frames *f, pid_t pid, bool *anew);
// Adds what was found to the model. 0 or -ENOMEM.
int watch_frames_add(struct watch_frames *f, struct watch_model *m);
// All that is known of one.
void watch_frames_details(struct watch_page *text, const struct listing *l, const struct watch_row *r,
			  const char *age);
