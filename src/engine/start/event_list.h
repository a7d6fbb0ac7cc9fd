// SPDX-License-Identifier: MIT
//
// event_list.h - which of the program's own events are to be recorded (--events), and which items of that
// list no event of the program matched.
#pragma once

#include "ctp/region.h"

struct event_list {
	char *text; // as ctp/event_choice.h reads it; NULL: all
	size_t bytes;
	bool *matched; // by item
};

// Takes the value of --events: 'http:*,!http:debug', '@FILE'. 0; -EINVAL: `why` says what is wrong.
int event_list_parse(struct event_list *l, const char *value, char *why, size_t why_bytes);
void event_list_deinit(struct event_list *l);
// Puts it into a region, before its program starts.
void event_list_describe(const struct event_list *l, const struct ctp_region *r);
// Puts it into a region whose program runs, and will take it when it comes by.
void event_list_change(const struct event_list *l, const struct ctp_region *r);
// Has the program taken the list that its region has?
bool event_list_taken(const struct ctp_region *r);
// Looks at the rows of events from *seen on, which becomes how many there are.
void event_list_look(const struct event_list *l, const struct ctp_region *r, uint32_t *seen);
// Does the list choose the USDT probe, by an item that spells its provider out?
bool event_list_names(const struct event_list *l, const char *provider, const char *name);
// Does any item spell a provider out?
bool event_list_names_any(const struct event_list *l);
// There is such a probe.
void event_list_found(const struct event_list *l, const char *provider, const char *name);
// The items that no event matched, as "a, b" in buf. False: there are none.
bool event_list_unmatched(const struct event_list *l, char *buf, size_t bytes);
