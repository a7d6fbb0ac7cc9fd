// SPDX-License-Identifier: MIT
//
// events.h - the events of the program's own (include/ctp/event.h).
#pragma once

#include <ctp/event.h>

#include "preload/guest/guest.h"

void events_init(void);   // the region is a fresh one: finds what is defined in all modules
void events_forked(void); // the same in a forked child: what its parent had found
void events_closed(void); // after dlclose: descriptors may have gone

void ctp_events_mapped(void); // the program's, by include/ctp/event.h: a module was mapped

// Calls `make`, then switches on what is recorded or probed, and off what is not. One at a time, and no
// module comes or goes meanwhile.
void events_change(void (*make)(void *arg), void *arg);

// Takes the list of what is to be recorded anew, if no other thread is at it (events_look).
void events_choose(void);

// Has the engine written another list? To be called where a wait has ended: where a thread may hold a lock
// that somebody wants who goes through the loader's modules, it must not be.
static inline void events_look(void)
{
	const struct ctp_event_choice *c = ctp_tracer->region.event_choice;
	if (c && CTP_UNLIKELY(ctp_load32(&c->seq) != ctp_load32(&ctp_tracer->region.ext->events_chosen)))
		events_choose();
}

// What a descriptor calls while it is on: records the event, then calls its probes. (events_record.c)
void events_signal(struct ctp_event_info *event, const uint64_t *words);
// The record alone, of an event of libctp's own, made `now`: with the guard.
void events_record(struct thread_ctx *g, const struct ctp_event_info *event, const uint64_t *words,
		   uint64_t now);
