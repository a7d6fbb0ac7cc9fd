// SPDX-License-Identifier: MIT
//
// What a user would put beside each switch instead: nothing, an LTTng-UST
// tracepoint (-DLTTNG), or a function that uftrace sees (-DFUNCTIONS, with
// -finstrument-functions). GO is the switch itself.
#pragma once

#ifdef LTTNG
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "probe_lttng.h"
#define PROBE(from, to) lttng_ust_tracepoint(bench, leave, (unsigned long)(from), (unsigned long)(to), 0)
#else
#define PROBE(from, to) ((void)0)
#endif

#ifdef FUNCTIONS
#define GO_KIND static __attribute__((noinline))
#else
#define GO_KIND static inline __attribute__((always_inline))
#endif
