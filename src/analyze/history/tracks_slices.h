// SPDX-License-Identifier: MIT
//
// tracks_slices.h - of tracks.c and tracks_end.c: begins and ends slices, and tells the sink.
#pragma once

#include "analyze/history/tracks.h"

#define TRACKS_NO_ROW UINT32_MAX // a thread's own stack

// The coroutine's state from ns on, or up to ns. th: by whose record; NULL: by the end of all.
void tracks_slices_begin_state(struct tracks *t, const struct tracks_thread *th, struct tracks_coroutine *c,
			       enum tracks_what what, uint64_t ns);
void tracks_slices_end_state(struct tracks *t, const struct tracks_thread *th, struct tracks_coroutine *c,
			     uint64_t ns, enum tracks_end how, int32_t fd, uint32_t gen);
// From the last that is known of it up to ns its state is not known.
void tracks_slices_lose_state(struct tracks *t, const struct tracks_thread *th, struct tracks_coroutine *c,
			      uint64_t ns);
// What runs on the thread: the coroutine `id`, or, if c is NULL, the thread's own stack.
void tracks_slices_begin_run(struct tracks *t, struct tracks_thread *th, uint64_t id,
			     struct tracks_coroutine *c, uint64_t ns);
void tracks_slices_end_run(struct tracks *t, struct tracks_thread *th, struct tracks_coroutine *c,
			   uint64_t ns, enum tracks_end how, const struct tracks_site *site);
// What ran there, c or the thread itself, is not what is outgoing now, or left in between.
void tracks_slices_lose_run(struct tracks *t, struct tracks_thread *th, struct tracks_coroutine *c,
			    uint64_t ns);
// A slice on the thread's track that is known as a whole.
void tracks_slices_whole(struct tracks *t, const struct tracks_thread *th, enum tracks_what what,
			 uint64_t since, uint64_t ns);
void tracks_slices_mark(struct tracks *t, const struct tracks_thread *th, struct tracks_coroutine *c,
			enum tracks_mark_kind kind, const char *text, uint64_t ns);

// Which coroutine runs on the thread, as far as is known, if its row is still its own; or NULL.
struct tracks_coroutine *tracks_runner(struct tracks *t, const struct tracks_thread *th);
// The walk is over: ends all that is open.
void tracks_end_all(struct tracks *t);
