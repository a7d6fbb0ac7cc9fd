// SPDX-License-Identifier: MIT
//
// The time between two looks doubles. One is made when what is open of the kernel's part can be decided at
// last: otherwise the next could be seconds later, or after the program's end.
#include "engine/witness/next_look.h"

#include "engine/suspects/stuck_wait.h"

enum { CHECK_MS = 30, BACKOFF_MS = 100, BACKOFF_MAX_MS = 5000, DOUBLED_MOST = 6 };
#define MS 1000000ULL

uint64_t next_look_ns(const struct suspect *s, bool again, uint64_t now_ns)
{
	unsigned doubled = s->inspections < DOUBLED_MOST ? s->inspections : DOUBLED_MOST;
	uint64_t ms = (uint64_t)BACKOFF_MS << doubled;
	uint64_t next = now_ns + (again ? CHECK_MS : ms < BACKOFF_MAX_MS ? ms : BACKOFF_MAX_MS) * MS;
	uint64_t slow = s->found_ns + NEXT_LOOK_SLOW_NS + 1;
	bool waits = stuck_wait_is(s) && s->a[PROOF_P3].holds == HOLDS_OPEN;
	return waits && now_ns < slow && slow < next ? slow : next;
}
