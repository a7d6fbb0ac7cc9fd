// SPDX-License-Identifier: MIT
//
// ctp/coroutine.h - coroutines that ctp cannot see by itself: of a scheduler of one's own, whose switches are
// made by code that no library can stand before. (C++20: ctp/coroutine.hpp does all of this.)
//
//	#include <ctp/coroutine.h>
//	struct task { ctp_coroutine ctp; ... };                 zeroed
//	ctp_coroutine_created(&t->ctp, t->stack, bytes, t->function);
//	ctp_coroutine_resumed(&t->ctp);                         it is about to run, or runs, here
//	ctp_coroutine_suspended(&t->ctp, CTP_REASON_READ, fd);  it is about to leave; -1: for no descriptor
//	ctp_coroutine_ended(&t->ctp);                           it runs, and never will again
//	ctp_coroutine_destroyed(&t->ctp);                       it is thrown away while it is suspended
//
// Nothing is to be linked: a program that runs under ctp-run (or with libctp.so preloaded) finds the library
// by a weak symbol, any other spends a few instructions a call. Each of these may be called by any thread,
// also where another one was forgotten: the coroutine is resumed, or discovered, then. The coroutines stand
// in reports, timelines, profiles and ctp-ps as all others do, and all rules apply to them.
//
// One that is suspended may be resumed by another thread at once. So `suspended` is called before anybody can
// do that, and `resumed` by whoever resumes it, before it runs, or by itself.
//
// C11 or C++11, gcc or clang, x86_64 and aarch64; elsewhere the calls do nothing unless libctp is linked.
#ifndef CTP_COROUTINE_H
#define CTP_COROUTINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// What ctp knows a coroutine by. The program keeps it, at one place, for as long as the coroutine lives.
// Zeros: not told of yet.
typedef struct ctp_coroutine {
	uint64_t station, id;
	const void *memory; // its stack or frame: a registration whose data points there leads to it
	size_t bytes;
} ctp_coroutine;

// Why it suspends.
typedef enum ctp_reason {
	CTP_REASON_NONE = 0,
	CTP_REASON_READ = 1,
	CTP_REASON_WRITE = 2,
	CTP_REASON_ACCEPT = 3,
	CTP_REASON_CONNECT = 4,
	CTP_REASON_TIMER = 5,
	CTP_REASON_LOCK = 6,
	CTP_REASON_CHANNEL = 7,
	CTP_REASON_CHILD = 8, // another coroutine's end
	CTP_REASON_YIELD = 9, // it can go on at once
	CTP_REASON_OTHER = 10
} ctp_reason;
#define CTP_REASONS 11

enum {
	CTP_COROUTINE_CREATED = 1,
	CTP_COROUTINE_RESUMED = 2,
	CTP_COROUTINE_SUSPENDED = 3,
	CTP_COROUTINE_ENDED = 4,
	CTP_COROUTINE_DESTROYED = 5
};

// What is told of one that is made.
struct ctp_coroutine_made {
	const void *entry;
	const void *promise; // where it keeps who awaits it (C++); NULL
	size_t promise_bytes;
};

// libctp.so's. how: of a suspension descriptor | reason << 32 | events << 40 (0: no descriptor). at: of a
// creation a struct ctp_coroutine_made; else where it stands, or NULL: at the call.
void ctp_coroutine_note(ctp_coroutine *c, unsigned what, uint64_t how, const void *at) __attribute__((weak));

typedef void (*ctp_coroutine_note_fn)(ctp_coroutine *, unsigned, uint64_t, const void *);

#define CTP_COROUTINE_INLINE_ static inline __attribute__((always_inline, unused))

// By way of the GOT: a program that is not position-independent would else be linked for good
// as one in which the library is not there.
CTP_COROUTINE_INLINE_ ctp_coroutine_note_fn ctp_coroutine_find_(void)
{
#if defined(__x86_64__) && !defined(__ILP32__)
	ctp_coroutine_note_fn f;
	__asm__(".weak ctp_coroutine_note\n\tmovq ctp_coroutine_note@GOTPCREL(%%rip), %0" : "=r"(f));
	return f;
#elif defined(__aarch64__) && !defined(__ILP32__)
	ctp_coroutine_note_fn f;
	__asm__(".weak ctp_coroutine_note\n\tadrp %0, :got:ctp_coroutine_note\n\t"
		"ldr %0, [%0, :got_lo12:ctp_coroutine_note]"
		: "=r"(f));
	return f;
#else
	return ctp_coroutine_note;
#endif
}

// Is anybody there to be told?
CTP_COROUTINE_INLINE_ int ctp_coroutine_traced(void)
{
	return ctp_coroutine_find_() != 0;
}

CTP_COROUTINE_INLINE_ void ctp_coroutine_tell_(ctp_coroutine *c, unsigned what, uint64_t how, const void *at)
{
	ctp_coroutine_note_fn f = ctp_coroutine_find_();
	if (__builtin_expect(f != 0, 0))
		f(c, what, how, at);
}

CTP_COROUTINE_INLINE_ uint64_t ctp_coroutine_how_(ctp_reason reason, int fd)
{
	uint64_t events = reason == CTP_REASON_WRITE || reason == CTP_REASON_CONNECT ? 4 :
										       1; // EPOLLOUT, EPOLLIN
	return (uint32_t)fd | (uint64_t)reason << 32 | (fd < 0 ? 0 : events << 40);
}

// memory, bytes: its stack, or its frame (0: not known). entry: its function.
CTP_COROUTINE_INLINE_ void ctp_coroutine_created(ctp_coroutine *c, const void *memory, size_t bytes,
						 void (*entry)(void))
{
	ctp_coroutine_note_fn f = ctp_coroutine_find_();
	if (__builtin_expect(f != 0, 0)) {
		struct ctp_coroutine_made made = {(const void *)(uintptr_t)entry, 0, 0};
		c->memory = memory;
		c->bytes = bytes;
		f(c, CTP_COROUTINE_CREATED, 0, &made);
	}
}

CTP_COROUTINE_INLINE_ void ctp_coroutine_resumed(ctp_coroutine *c)
{
	ctp_coroutine_tell_(c, CTP_COROUTINE_RESUMED, 0, 0);
}

CTP_COROUTINE_INLINE_ void ctp_coroutine_suspended(ctp_coroutine *c, ctp_reason reason, int fd)
{
	ctp_coroutine_tell_(c, CTP_COROUTINE_SUSPENDED, ctp_coroutine_how_(reason, fd), 0);
}

CTP_COROUTINE_INLINE_ void ctp_coroutine_ended(ctp_coroutine *c)
{
	ctp_coroutine_tell_(c, CTP_COROUTINE_ENDED, 0, 0);
}

CTP_COROUTINE_INLINE_ void ctp_coroutine_destroyed(ctp_coroutine *c)
{
	ctp_coroutine_tell_(c, CTP_COROUTINE_DESTROYED, 0, 0);
}

#ifdef __cplusplus
}
#endif
#endif
