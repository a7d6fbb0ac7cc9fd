// SPDX-License-Identifier: MIT
//
// events_other.c - another file of events.c: the same name with other fields. With MODULE it is a library instead, which
// signals before it is even initialised.
#include "events.h"

CTP_EVENT(two, same, (const char *, a), (int, b));

#ifdef MODULE
CTP_EVENT(module, early);
CTP_EVENT(module, called, (int, times));

void signal_it(int times);

__attribute__((constructor)) static void initialise(void)
{
	ctp_event(module, early);
}

void signal_it(int times)
{
	ctp_event(module, called, times);
	ctp_event(two, same, "module", times);
	events_idle(times);
}
#else
void events_two(void);

void events_two(void)
{
	ctp_event(two, same, "other", 2);
	events_idle(3);
}
#endif
