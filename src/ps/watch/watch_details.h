// SPDX-License-Identifier: MIT
//
// watch_details.h - all that is known of one coroutine, in lines.
#pragma once

#include "ps/watch/watch_last.h"
#include "ps/watch/watch_inspect.h"
#include "ps/watch/watch_names.h"
#include "ps/watch/watch_use.h"
#include "ps/watch/watch_view.h"

struct watch_subject {
	struct report *report;
	struct watch_names *names;
	const struct watch_model *model;
	const struct watch_threads *threads;
	const struct watch_proofs *proofs;
	const struct watch_use *use;
	const struct watch_row *row;
	struct watch_last last; // as of this number of the coroutine's changes
	uint64_t id, last_changes;
	size_t columns; // long lines are wrapped at
};

// Writes the page. 0 or -errno: then the process could not be read, and the page says as much as is known.
int watch_details(struct watch_page *text, struct watch_subject *s);
