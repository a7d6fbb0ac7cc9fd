// SPDX-License-Identifier: MIT
//
// describe.h - the sentences about a finding, for all formats.
#pragma once

#include "analyze/report/finding.h"

#define DESCRIBE_FDS (CTP_WAITS + 1)

// What it is about, or waits for: out[0] is the finding's own, if there is one. Returns how many.
struct describe_fd {
	int32_t fd;
	uint32_t gen;
	bool closed;
};
unsigned describe_fds(const struct verdict_case *c, struct describe_fd out[DESCRIBE_FDS]);
// What is said of the coroutine in the first line, as the verdict allows.
const char *describe_claim(const struct verdict_case *c);
void describe_refuted(const struct verdict_case *c, char *buf, size_t bytes);
void describe_message(const struct report *r, const struct finding *f, char *buf, size_t bytes);
// What an obligation says, in a word or two.
const char *describe_proof(const struct verdict_case *c, unsigned proof);
