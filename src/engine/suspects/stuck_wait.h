// SPDX-License-Identifier: MIT
//
// stuck_wait.h - what is known of one coroutine that waits for an open descriptor.
#pragma once

#include "engine/inspect/inspect.h"

#define STUCK_WAIT_NO_CAND UINT32_MAX

// CTP003, 004, 005, 008, 009, 027, 028, 031, and CTP002 without a candidate: suspects that stuck_gather()
// adds, whose descriptor is open.
static inline bool stuck_wait_is(const struct suspect *s)
{
	switch (s->rule) {
	case RULE_PARKED:
	case RULE_MISSED_EDGE:
	case RULE_ONESHOT:
	case RULE_DELIVERED:
	case RULE_WRONG_WAITER:
	case RULE_TIMER:
	case RULE_ABANDONED:
	case RULE_SIGNAL:
		return true;
	case RULE_REMOVED:
		return s->cand == STUCK_WAIT_NO_CAND;
	}
	return false;
}
// Could a word in memory that references it refute it? For the other rules an armed registration does.
static inline bool stuck_wait_needs_memory(const struct suspect *s)
{
	return !stuck_wait_is(s) || s->rule == RULE_PARKED || s->rule == RULE_ONESHOT ||
	       s->rule == RULE_REMOVED;
}

// After all judges: is it refuted? Marks it, so that it is dropped.
bool stuck_wait_refuted(struct suspect *s);
// Keeps, of n, the suspects with an open answer that another inspection may decide. How many.
size_t stuck_wait_keep_open(struct suspect **who, size_t n);

// What is known of its wait. Partner: obligations_stuck.c decides `firm` by the same data.
uint32_t stuck_wait_directions(const struct suspect *s); // EPOLLIN, EPOLLOUT
// The events that would wake it: with one of these a row is for it. Hang-ups and errors, which the kernel
// adds, are only where it asked for nothing else.
uint32_t stuck_wait_needed(const struct suspect *s);
bool stuck_wait_firm(const struct suspect *s, pid_t pid); // it suspended for F, as far as can be known
// Is the open F ready for all of these? 1, 0, -1 = cannot be told. The copy of the
// descriptor that this takes is gone when it returns.
int stuck_wait_ready(pid_t pid, int fd, uint32_t directions);
// May F be written to? 1, 0, -1 = cannot be told.
int stuck_wait_takes(pid_t pid, int fd);
// Has the process fewer descriptors than it may have? 1, 0, -1 = cannot be told.
int stuck_wait_can_open(pid_t pid);
// Its last accept found no descriptor free.
bool stuck_wait_full(const struct suspect *s);
// How many bytes of F are unread. -1: cannot be told.
int stuck_wait_unread(pid_t pid, int fd);
// Is there anything to be read, or the end of it, and how many bytes? 1, 0, -1 = cannot be told.
int stuck_wait_readable(pid_t pid, int fd, int *bytes);
// Has the peer ended what it sends, or is there an error? 1, 0, -1 = cannot be told.
int stuck_wait_ended(pid_t pid, int fd);
// Is the timerfd disarmed, with no expiry to be read? 1, 0, -1 = cannot be told.
int stuck_wait_disarmed(pid_t pid, int fd);
// The longer of how long the timerfd takes to expire, and of its interval. 0: neither, or it cannot be told.
uint64_t stuck_wait_expires_ns(pid_t pid, int fd);
// Other periodic timers that were made in the same place, for the same set, and are armed. 0: too few of
// those that were made there.
unsigned stuck_wait_ticking(const struct ctp_region *r, const struct suspect *s, pid_t pid);
// Is it a registration of F under its own number? The judges handle those of a dup (kernel_stuck.c).
bool stuck_wait_registered(const struct registration *reg, pid_t pid, int fd);
