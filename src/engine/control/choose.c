// SPDX-License-Identifier: MIT
//
// The list of events is written to every region: to those of living processes, which read it at their next
// call of those that spec/cTP.md, 2.8, lists, and to the spare ones for forked children. A later region
// begins with it.
#include "engine/control/choose.h"

#include <string.h>

static void tell(const struct session *s)
{
	event_list_change(s->events, &s->first.region);
	for (size_t i = 0; i < s->n_processes; i++) {
		struct process *p = s->processes[i];
		p->events = s->events;
		p->events_seen = 0; // what matches the new list has to be found anew
		if (!p->ended && p->region != &s->first.region)
			event_list_change(s->events, p->region);
		event_list_look(p->events, p->region, &p->events_seen);
	}
	for (int i = 0; i < CTP_SPARES; i++)
		if (s->spares[i].ready)
			event_list_change(s->events, &s->spares[i].shm.region);
}

int choose_events(struct session *s, const char *list, char *why, size_t why_bytes)
{
	struct event_list l = {0};
	int r = event_list_parse(&l, list, why, why_bytes);
	if (r)
		return r;
	event_list_deinit(&s->chosen);
	s->chosen = l;
	s->events = &s->chosen;
	tell(s);
	session_uprobes_again(s);
	return 0;
}

unsigned choose_pending(const struct session *s)
{
	unsigned n = 0;
	for (size_t i = 0; i < s->n_processes; i++)
		n += !s->processes[i]->ended && !event_list_taken(s->processes[i]->region);
	return n;
}
