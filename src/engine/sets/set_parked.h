// SPDX-License-Identifier: MIT
//
// set_parked.h - coroutines that are suspended without a known wait: at a lock, a queue or a join of the
// program's own, or in a pool.
#pragma once

#include <stdio.h>

#include "engine/inspect/inspect.h"

enum { SET_PARKED_MOST = 4096 };

// Is the station's coroutine suspended, on a stack of its own? Then *c is its state.
bool set_suspended(const struct ctp_region *r, uint64_t station, struct ctp_state *c);
// Is it parked?
bool set_parked(const struct ctp_region *r, uint64_t station, struct ctp_state *c);
// Does an armed registration lead to it? What is not known of rows is for the reader of the line.
// l: NULL is no registration.
bool set_parked_registered(const struct inspection *l, const struct ctp_state *s);

// Is main itself suspended: does it wait, as a coroutine would, for another to go on?
bool set_main_waits(const struct ctp_region *r, pid_t pid);
// If so, a line with all that are parked.
void set_main_waiting(FILE *out, const struct inspection *l);
// Is anybody parked, while no epoll set watches what others outside could make ready?
bool set_parked_may_rest(const struct ctp_region *r);
// Of a program that is quiet, a line with all that are parked, where main does not wait for coroutines.
void set_parked_resting(FILE *out, const struct inspection *l);
