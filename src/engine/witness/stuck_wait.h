// SPDX-License-Identifier: MIT
//
// stuck_wait.h - what is known of one coroutine that waits for an open descriptor.
#pragma once

#include "engine/inspect/inspect.h"

// CTP003, 004, 005, 008, 009, 027: suspects that stuck_gather() adds, whose descriptor is open.
static inline bool stuck_wait_rule(unsigned rule)
{
	return rule == RULE_PARKED || rule == RULE_MISSED_EDGE || rule == RULE_ONESHOT ||
	       rule == RULE_DELIVERED || rule == RULE_WRONG_WAITER || rule == RULE_TIMER;
}
// Could a word in memory that references it refute it? For the other rules an armed registration does.
static inline bool stuck_wait_needs_memory(unsigned rule)
{
	return !stuck_wait_rule(rule) || rule == RULE_PARKED || rule == RULE_ONESHOT;
}

// After all judges: is it refuted? Marks it, so that it is dropped.
bool stuck_wait_refuted(struct suspect *s);
// Keeps, of n, the suspects with an open answer that another inspection may decide. How many.
size_t stuck_wait_keep_open(struct suspect **who, size_t n);

// What is known of its wait. Partner: obligations_stuck.c decides `firm` by the same data.
uint32_t stuck_wait_directions(const struct suspect *s);  // EPOLLIN, EPOLLOUT
bool stuck_wait_firm(const struct suspect *s, pid_t pid); // it suspended for F, as far as can be known
// Is the open F ready for all of these? 1, 0, -1 = cannot be told. The copy of the
// descriptor that this takes is gone when it returns.
int stuck_wait_ready(pid_t pid, int fd, uint32_t directions);
// Is the timerfd disarmed, with no expiry to be read? 1, 0, -1 = cannot be told.
int stuck_wait_disarmed(pid_t pid, int fd);
// Is it a registration of F under its own number? The judges handle those of a dup (kernel_stuck.c).
bool stuck_wait_registered(const struct registration *reg, pid_t pid, int fd);

#define STUCK_WAIT_EVENTS 0x0fffffffu // a one-shot that fired has none of them
#define STUCK_WAIT_NO_CAND UINT32_MAX
