// SPDX-License-Identifier: MIT
//
// closes.h - descriptors that were closed while they were registered, with what their registration led to.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "ctp/region.h"

struct closes_one {
	int fd;
	struct ctp_fd was; // as it was registered: data, opener
	struct ctp_fd end; // who closed that generation, where and when
};

struct closes {
	struct closes_seen *seen; // by fd
	size_t nseen;
	struct closes_one *v;
	size_t n, room;
};

// Looks through the table of descriptors. True if there is a close that was not seen before.
bool closes_note(struct closes *c, const struct ctp_region *r);
// Did its registration bring no event until its end? Then whoever waited for one was not resumed by it.
bool closes_waited(const struct closes_one *c);
// Did it bring one, as far as is known?
bool closes_delivered(const struct closes_one *c);
void closes_deinit(struct closes *c);
