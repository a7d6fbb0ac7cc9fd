// SPDX-License-Identifier: MIT
//
// watch_last.h - the last events of one coroutine, as far as the rings still hold them.
#pragma once

#include "base/clock.h"
#include "ps/read/find.h"

enum { WATCH_LAST = 24 };

struct watch_event {
	uint64_t n;     // the coroutine's number of this change; 0: it is none (made, or ready)
	uint64_t ns;    // CLOCK_MONOTONIC
	uint64_t other; // who was entered when it left, who left when it was entered; 0 = not known
	uint32_t stack; // recorded: where it left, or where the other one was when it left
	uint32_t tid;
	uint8_t kind, how; // enum ctp_kind, enum ctp_how or ctp_fd_call
	bool went_on;      // it was entered
	int32_t fd;        // CTP_EV_FD_*, CTP_EV_READY
	uint32_t gen;
};

struct watch_last {
	struct watch_event v[WATCH_LAST]; // the newest first
	size_t n;
};

// changes: the coroutine's count of now. 0 or -errno.
int watch_last_read(struct watch_last *out, const struct found *f, uint64_t id, uint64_t changes);
