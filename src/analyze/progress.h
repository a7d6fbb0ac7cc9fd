// SPDX-License-Identifier: MIT
//
// progress.h - a progress bar, if stderr is a terminal and reading takes longer than a second.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool wanted, drawn;
	uint64_t next_ns;  // when it is drawn again
	const char *doing; // "reading"
};

void progress_begin(struct progress *p);
// From here on it says something else, as "exporting".
void progress_what(struct progress *p, const char *doing);
// As in struct world_watch; arg is the progress.
void progress_report(void *arg, uint64_t done, uint64_t total);
void progress_clear(struct progress *p); // before anything else is written there
void progress_end(struct progress *p);   // for good
