// SPDX-License-Identifier: MIT
//
// late.h - times without a reading (spec/cTP.md, "Time"). A thread at a high rate does not read the clock
// at every switch. An even time is a reading. An odd one is the last reading and some ticks: what happened,
// happened then or later, but before the thread's next reading.
//
// "It left after t" follows from `since`, the earliest time; "it left before t" only from ctp_state_latest.
// Who compares times of two threads asks the one that makes the weaker claim.
#pragma once

#include "ctp/region.h"
#include "ctp/seq.h"

#define CTP_TIME_READ(t) ((t) & ~(uint64_t)1)
#define CTP_TIME_IS_READ(t) (!((t)&1))
#define CTP_LATE_TICKS 4096u // how late it may be where ctp_state.late is 0
#define CTP_LATE_UNKNOWN 63u // no reading has followed

// Of a record: in a run with these options, is it a time without a reading?
static inline bool ctp_time_is_late(uint32_t options, uint64_t time)
{
	return (options & (CTP_OPT_ADAPTIVE | CTP_OPT_SPARSE)) && !CTP_TIME_IS_READ(time);
}

// The least `late` for so many ticks.
static inline uint8_t ctp_late_for(uint64_t ticks)
{
	return ticks <= CTP_LATE_TICKS ? 0 : (uint8_t)(64 - __builtin_clzll(ticks - 1));
}

// The latest time at which it can have left (or gone on).
static inline uint64_t ctp_state_latest(const struct ctp_state *s)
{
	uint64_t ticks = !s->late                    ? CTP_LATE_TICKS :
			 s->late >= CTP_LATE_UNKNOWN ? UINT64_MAX :
						       1ULL << s->late;
	if (CTP_TIME_IS_READ(s->since))
		return s->since;
	return s->since > UINT64_MAX - ticks ? UINT64_MAX : s->since + ticks;
}

// `is` is a copy of a state, `read` its thread's time_read, loaded before the copy was made. If no reading
// has followed by then, it says so.
static inline void ctp_state_settle(struct ctp_state *is, uint64_t read)
{
	if (!CTP_TIME_IS_READ(is->since) && is->since > read)
		is->late = CTP_LATE_UNKNOWN;
}

// It was there when ctp-run attached, and has not run since: it left at `since`, or at any time before.
static inline bool ctp_state_is_from_before(const struct ctp_state *s)
{
	return (s->flags & CTP_STATE_SINCE_LATEST) && !s->changes;
}

// ctp_state_read, and settled.
static inline bool ctp_state_read_settled(const struct ctp_region *r, const struct ctp_state *s,
					  struct ctp_state *out)
{
	uint32_t slot = *(const volatile uint32_t *)&s->thread;
	uint64_t read = slot < r->threads_max ? ctp_load64(&r->threads[slot].time_read) : 0;
	bool whole = ctp_state_read(s, out);
	ctp_state_settle(out, out->thread == slot ? read : 0);
	return whole;
}
