// SPDX-License-Identifier: MIT
//
// report.h - all that is to be told of one process, and in which forms.
#pragma once

#include <stdio.h>

#include "ps/fds.h"
#include "ps/groups.h"
#include "ps/stacks.h"
#include "ps/tables.h"
#include "symbols/frames.h"

struct report {
	const struct found *found;
	struct tables tables;
	struct groups groups;
	struct stacks *stacks;
	struct symbols *symbols;
	struct fds *fds;
	bool all, whole; // --all, --stack
	char root[40];   // where the process's files lie, if not here; else ""
};

int report_make(struct report *r, const struct found *f, bool all, bool whole); // 0 or -errno
void report_deinit(struct report *r);
// Frames of a stack by its number, innermost first. 0 or -ENOMEM.
int report_frames(const struct report *r, uint32_t stack, struct frames *out);
// Where a coroutine was created: the innermost frame that is the program's own, or NULL.
const struct symbols_frame *report_created_at(const struct report *r, const struct coroutine *c);
const struct symbols_frame *report_entry(const struct report *r, const struct coroutine *c); // or NULL
// What it is called wherever it is shown, fit for a terminal: by its function. `buf` holds it.
const char *report_label(const struct report *r, const struct coroutine *c, char *buf, size_t bytes);
const char *report_state(const struct coroutine *c); // "suspended"

int text_write(FILE *to, const struct report *r, bool color); // 0 or -errno
int json_write(FILE *to, const struct report *r);
