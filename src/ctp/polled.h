// SPDX-License-Identifier: MIT
//
// polled.h - what poll and select are given, judged in the same way by the library and by
// ctp-run. The library marks each descriptor of the set before the call (ctp_fd.polled) and
// keeps a checksum of the set (ctp_thread.set_sum). ctp-run reads the set from the memory of
// a thread that sleeps, and trusts it if the checksum still matches: the kernel copied the
// set at the entry, and another thread may have written there since.
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "ctp/ctp.h"

#define CTP_POLLED_IN (POLLIN | POLLPRI | POLLRDNORM | POLLRDBAND | 0x2000) // 0x2000: POLLRDHUP
#define CTP_POLLED_OUT (POLLOUT | POLLWRNORM | POLLWRBAND)
#define CTP_POLLED_BITS 64 // in a word of an fd_set

enum {
	CTP_POLLED_READ,
	CTP_POLLED_WRITE,
	CTP_POLLED_EXCEPT,
	CTP_POLLED_SETS
}; // the order of select's arguments

static inline uint64_t ctp_polled_sum(uint64_t sum, int fd, unsigned events)
{
	return (sum ^ ((uint64_t)(uint32_t)fd << 16 | (events & 0xffff))) * 0x9e3779b97f4a7c15ULL + 1;
}

// What a bit in one of select's sets asks for.
static inline unsigned ctp_polled_events(int which)
{
	return which == CTP_POLLED_READ ? POLLIN : which == CTP_POLLED_WRITE ? POLLOUT : POLLPRI;
}

// Words of an fd_set of n bits, as the kernel reads them.
static inline uint64_t ctp_polled_words(int n)
{
	return n > 0 ? ((uint64_t)n + CTP_POLLED_BITS - 1) / CTP_POLLED_BITS : 0;
}

// Word i of an fd_set of n bits, without those past the last.
static inline uint64_t ctp_polled_word(uint64_t word, int n, uint64_t i)
{
	uint64_t left = (uint64_t)n - i * CTP_POLLED_BITS;
	return left >= CTP_POLLED_BITS ? word : word & ((1ULL << left) - 1);
}

// Is what this thread does in poll or select the wait of a loop? `own`: its own stack is in it.
static inline bool ctp_polled_loops(const struct ctp_thread *t, bool own)
{
	return own || !(t->flags & CTP_THREAD_LOOPS);
}

// The thread is in a wait of its loop that can sleep, by its entry.
static inline bool ctp_loop_waits(const struct ctp_thread *t)
{
	bool own = !t->current || t->current == t->native;
	bool set = t->wait_call == CTP_IN_POLL || t->wait_call == CTP_IN_SELECT;
	return (t->wait_seq & 1) && t->wait_timeout_ns != 0 &&
	       (t->wait_call == CTP_IN_EPOLL || (set && ctp_polled_loops(t, own)));
}

// Stands fd, open in this entry, in the set with which this thread waits? 1 for
// certain, 0 not, -1 not known: another thread has entered a wait for it since.
static inline int ctp_polled_has(const struct ctp_thread *t, const struct ctp_fd *f)
{
	if (!(t->wait_seq & 1) || (t->wait_call != CTP_IN_POLL && t->wait_call != CTP_IN_SELECT))
		return 0;
	if (f->polled == t->wait_since || f->polled_out == t->wait_since)
		return 1;
	return f->polled > t->wait_since || f->polled_out > t->wait_since ? -1 : 0;
}
