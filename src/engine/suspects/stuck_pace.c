// SPDX-License-Identifier: MIT
//
// A walk is made when the program is idle and was active since the last one. A program that is never idle is
// walked more and more seldom. What comes for a descriptor that is registered nowhere moves nothing: where
// that is waited for, there are walks now and then, too. A walk costs a twentieth of a CPU at most.
#include "engine/suspects/stuck_pace.h"

#define MS 1000000ULL
enum { BUSY_MS = 200, BUSY_MAX_MS = 10000, STOPPED_MS = 20, WATCH_MS = 250, WATCH_MAX_MS = 8000 };

bool stuck_pace_due(struct stuck *k, uint64_t sum, uint64_t now_ns, bool *idle)
{
	if (sum != k->moves) {
		k->moves = sum;
		k->still_ns = now_ns;
	}
	if (!k->busy_ns)
		k->busy_ns = now_ns + BUSY_MS * MS;
	*idle = now_ns - k->still_ns >= STUCK_PACE_REST_MS * MS;
	if (k->watch_ns && now_ns >= k->watch_ns)
		return true;
	return sum != k->walked && now_ns >= (*idle ? k->walk_ns : k->busy_ns);
}

// More seldom while nothing happens.
static void watch(struct stuck *k, const struct stuck_paced *w, uint64_t end_ns, uint64_t cost_ns)
{
	k->watch_ms = w->watch && k->watch_ms && w->moves == k->watched ? 2 * k->watch_ms : WATCH_MS;
	k->watch_ms = k->watch_ms < WATCH_MAX_MS ? k->watch_ms : WATCH_MAX_MS;
	k->watched = w->moves;
	uint64_t pause = k->watch_ms * MS > cost_ns ? k->watch_ms * MS : cost_ns;
	k->watch_ns = w->watch ? end_ns + pause : 0;
}

void stuck_pace_put_off(struct stuck *k, uint64_t now_ns)
{
	k->walk_ns = k->busy_ns = now_ns + STOPPED_MS * MS;
}

void stuck_pace_walked(struct stuck *k, const struct stuck_paced *w)
{
	uint64_t end = proc_now_ns(), cost = 20 * (end - w->begun_ns),
		 pause = w->whole || w->stopped ? BUSY_MS * MS : 2 * k->pause_ns;
	k->pause_ns = pause < BUSY_MS * MS     ? BUSY_MS * MS :
		      pause < BUSY_MAX_MS * MS ? pause :
						 BUSY_MAX_MS * MS;
	watch(k, w, end, cost);
	k->walk_ns = end + cost + (w->whole || !w->idle ? 0 : k->pause_ns);
	k->busy_ns = end + cost + k->pause_ns;
	if (w->whole)
		k->walked = w->moves;
}
