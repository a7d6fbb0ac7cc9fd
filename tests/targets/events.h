// SPDX-License-Identifier: MIT
//
// events.h - events of a header that several files include (ctp/event.h). Also read as C++.
#pragma once

#include <stdbool.h>

#include <ctp/event.h>

enum events_color { EVENTS_RED = -1, EVENTS_BLUE = 7 };

CTP_EVENT(http, request, (const char *, path), (int, status));
CTP_EVENT(http, idle);
CTP_EVENT(kinds, numbers, (signed char, a), (unsigned short, b), (bool, c), (enum events_color, d), (float, e),
	  (double, f), (const long, g), (uint64_t, h), (char, i), (short, j), (long long, k), (unsigned, event));
CTP_EVENT(kinds, places, (void *, at), (char *, text), (ctp_bytes, data), (const char *, none));

static inline int events_idle(int x)
{
	ctp_event(http, idle);
	return x;
}

static inline void events_of_every_kind(void)
{
	char text[300];
	for (int i = 0; i < 299; i++)
		text[i] = (char)('a' + i % 26);
	text[299] = 0;
	ctp_event(kinds, numbers, -3, 65535, true, EVENTS_RED, 1.5f, -2.25, -5000000000L, ~(uint64_t)0, 'c', -30000,
		  -1LL, 4000000000u);
	ctp_event(kinds, places, (void *)0x1234, text, ctp_bytes_of("\1\2\377", 3), (const char *)0);
}
