// SPDX-License-Identifier: MIT
//
// remote.h - calls functions in another process, on a thread of it that sleeps in a system call.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { REMOTE_TEXT = 160 };

struct remote {
	pid_t pid, tid;
	void *state; // what the thread was like
	uint64_t sigmask;
	uint64_t gate;  // address of a system call instruction: where calls return to
	uint64_t stack; // made for the calls, below its end
	char why[REMOTE_TEXT];
};

// Stops one thread of pid that sleeps where nothing is half done, within patience_ns. The others run on.
// 0; -ESRCH: there is no such process; -EPERM; -EAGAIN: no thread sleeps so; -ENOTSUP: not on this CPU.
// r->why says it in words.
int remote_stop(struct remote *r, pid_t pid, uint64_t patience_ns);
// Does the kernel give all pages to a mapping when it is made there (mlockall with MCL_FUTURE)? To be asked
// before the first call.
bool remote_allocates_at_once(struct remote *r);
// Calls fn(a, b) there: *result. A text is put into memory first, and its address is `a`. 0 or -errno; after
// an error nothing more can be called, and remote_release gives the thread back as it was.
int remote_call(struct remote *r, uint64_t fn, uint64_t a, uint64_t b, uint64_t *result);
int remote_call_text(struct remote *r, uint64_t fn, const char *text, uint64_t b, uint64_t *result);
// Calls fn with the address of a copy of the block there, which is copied back and unmapped.
int remote_call_block(struct remote *r, uint64_t fn, void *block, size_t bytes, uint64_t *result);
// The thread sleeps again as before, in the same call.
void remote_release(struct remote *r);
