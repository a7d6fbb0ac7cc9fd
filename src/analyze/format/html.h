// SPDX-License-Identifier: MIT
//
// html.h - the parts of the HTML report. Its data is one block of JSON, made by the functions
// below and read by src/analyze/html/*.js. Both come from the same build, so its shape may
// change at any time; programs use --format=json.
#pragma once

#include <jansson.h>

#include "analyze/report/finding.h"
#include "base/idmap.h"

// The page up to where the run is told, from there to its data, and after those (made by html/embed.py).
extern const char html_before[], html_between[], html_after[];

// Frames and stacks are told once, and meant by their place in these arrays.
struct html {
	const struct report *report;
	json_t *frames; // [function, file, line, source, library?, module, inlined?]
	json_t *stacks; // [frame, ...], innermost first; stack 0 is the one that was not captured
	struct idmap by_frame, by_stack;
	struct idmap finding_of; // by html_key(image, coroutine): its first finding
	int error;
};

static inline uint64_t html_key(const struct image *m, uint64_t id)
{
	return (uint64_t)m->index << 48 | id;
}

json_t *html_stack(struct html *h, const struct image *m, uint32_t stack);
// From the trace's start, in ns; what was before it is its start.
uint64_t html_ns(const struct html *h, uint64_t ticks);

json_t *html_findings(struct html *h); // also fills finding_of
json_t *html_coroutines(struct html *h);
json_t *html_timeline(struct html *h);                   // what happened when; NULL: no memory
json_t *html_profile(struct html *h, const char *symfs); // where time went
json_t *html_trace(const struct html *h);
json_t *html_facts(const struct html *h);
json_t *html_rules(const struct html *h);
