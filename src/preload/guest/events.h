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

// What a descriptor calls while it is on: records the event, then calls its probes. (events_record.c)
void events_signal(struct ctp_event_info *event, const uint64_t *words);
