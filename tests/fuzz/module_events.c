// SPDX-License-Identifier: MIT
//
// The object file that the fuzz target of events in object files begins with: a field of every kind.
#include <ctp/event.h>

CTP_EVENT(fuzz, all, (int, a), (unsigned char, b), (double, c), (void *, d), (const char *, e),
	  (ctp_bytes, f));
CTP_EVENT(fuzz, none);

void module_events(int n);
void module_events(int n)
{
	ctp_event(fuzz, all, n, 1, 0.5, &n, "text", ctp_bytes_of(&n, sizeof(n)));
	ctp_event(fuzz, none);
}
