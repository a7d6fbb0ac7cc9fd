// SPDX-License-Identifier: MIT
//
// events_off.h - loops with an event and without, for counting the instructions of one that is off.
#pragma once

#include <ctp/event.h>

CTP_EVENT(off, pair, (long, a), (long, b));

#ifdef __clang__
#define LOOP __attribute__((noinline)) void
#else
#define LOOP __attribute__((noipa)) void
#endif
#define KEEP(i) __asm__ volatile("" : "+r"(i)) // the loop stays as it is; `while`, as clang -O0
// leaves the body of `for` with a jump where it has a branch
#define CAT(a, b) CAT2(a, b)
#define CAT2(a, b) a##b

#ifdef __cplusplus
#define C_NAMES extern "C" {
#define C_NAMES_END }
#else
#define C_NAMES
#define C_NAMES_END
#endif

C_NAMES
LOOP called(void);
C_NAMES_END

// Both call something, so that both have a frame.
static inline void in_header(long i)
{
	called();
	ctp_event(off, pair, i, 7);
}

static inline void nothing_in_header(long i)
{
	called();
	(void)i;
}
