// SPDX-License-Identifier: MIT
//
// The tracepoint: who leaves, who is entered, and a word, as a hand-made one would have it.
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./probe_lttng.h"
#if !defined(BENCH_PROBE_LTTNG_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_PROBE_LTTNG_H
#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(bench, leave,
	LTTNG_UST_TP_ARGS(unsigned long, from, unsigned long, to, unsigned, how),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(unsigned long, from, from)
		lttng_ust_field_integer(unsigned long, to, to)
		lttng_ust_field_integer(unsigned, how, how)))
#endif
#include <lttng/tracepoint-event.h>
