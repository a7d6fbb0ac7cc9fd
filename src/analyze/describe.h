// SPDX-License-Identifier: MIT
//
// describe.h - the parts of a finding in words, shared by all formats.
#pragma once

#include "analyze/finding.h"

struct timeline_entry {
	uint64_t t_ns;      // from the start of the trace
	uint64_t coroutine; // or native stack; 0 = nobody's
	char what[160];
};
#define TIMELINE_MAX 6

const char *describe_kind(const struct verdict_case *c);
// "127.0.0.1:8080 <- 127.0.0.1:51122"; false if unknown.
bool describe_name(const struct verdict_case *c, char *buf, size_t bytes);
const char *describe_call(unsigned call); // enum ctp_fd_call: "close"
unsigned describe_timeline(const struct verdict_case *c, struct timeline_entry *out);
uint64_t describe_suspended_ns(const struct verdict_case *c);
void describe_refuted(const struct verdict_case *c, char *buf, size_t bytes);
void describe_message(const struct report *r, const struct finding *f, char *buf, size_t bytes);
