// SPDX-License-Identifier: MIT
//
// race.h - reads and writes that race on purpose, and how they are kept from ThreadSanitizer.
//
// There are two kinds. The payload of a sequence lock is copied while a writer may change it,
// and the sequence decides afterwards whether the copy is valid (seq.h). And a word of an
// entry is read without the lock, as a hint that its user checks again.
//
// ThreadSanitizer does not model fences and does not know that a torn copy is discarded, so it
// is not shown the copy. It sees all else: that two writers exclude each other, and that what is
// read without a sequence was published.
#pragma once

#include <stddef.h>
#include <string.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) && !defined(__SANITIZE_THREAD__)
#define __SANITIZE_THREAD__ 1
#endif
#endif

// Reader of a sequence lock: the copy, between the two looks at the sequence.
#ifdef __SANITIZE_THREAD__
__attribute__((noinline, unused, no_sanitize("thread"))) static void ctp_copy(void *to, const void *from,
									      size_t bytes)
{
	volatile unsigned char *out = to; // volatile: not made a call of memcpy, which would be seen
	const volatile unsigned char *in = from;
	for (size_t i = 0; i < bytes; i++)
		out[i] = in[i];
}
#else
static inline void ctp_copy(void *to, const void *from, size_t bytes)
{
	memcpy(to, from, bytes);
}
#endif

// A word that is written under a lock and looked at without: whole, and in no order with others.
#define ctp_peek(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define ctp_poke(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
