// SPDX-License-Identifier: MIT
//
// ctp/task.h - names for coroutines, as pthread_setname_np gives them to threads.
//
//	#include <ctp/task.h>
//	ctp_set_name("conn 41 to 10.0.0.1");
//
// Nothing is to be linked: a program that runs under ctp-run (or with libctp.so preloaded) finds
// the library by a weak symbol, any other spends two instructions. The names stand beside the
// function in the reports of ctp-analyze, in ctp-ps, and in core files.
#ifndef CTP_TASK_H
#define CTP_TASK_H

// The most bytes of a name, with its terminating zero.
#define CTP_NAME_BYTES 48

#ifdef __cplusplus
extern "C" {
#endif

// libctp.so's; call the two below. of: NULL, or as in ctp_set_name_of.
int ctp_task_set_name(const void *of, const char *name) __attribute__((weak));

// By way of the GOT: a program that is not position-independent would else be linked for good
// as one in which the library is not there.
static inline int (*ctp_task_find(void))(const void *, const char *)
{
#if defined(__x86_64__) && !defined(__ILP32__)
	int (*f)(const void *, const char *);
	__asm__(".weak ctp_task_set_name\n\tmovq ctp_task_set_name@GOTPCREL(%%rip), %0" : "=r"(f));
	return f;
#elif defined(__aarch64__) && !defined(__ILP32__)
	int (*f)(const void *, const char *);
	__asm__(".weak ctp_task_set_name\n\tadrp %0, :got:ctp_task_set_name\n\t"
		"ldr %0, [%0, :got_lo12:ctp_task_set_name]"
		: "=r"(f));
	return f;
#else
	return ctp_task_set_name;
#endif
}

// Names the coroutine that runs. UTF-8, copied; what is longer than CTP_NAME_BYTES - 1 is cut
// off. "" or NULL: it has no name any more. A name ends with its coroutine: another one on the
// same stack begins without.
//
// 0, also where nothing is traced, or an error number (errno stays as it is):
//	ERANGE	the name was cut off; it stands all the same
//	ESRCH	no coroutine runs here: a thread's own stack goes by the thread's name, pthread_setname_np
//	ENOSPC	there are more coroutines than ctp-run -n says: this one is not in the tables
//	EAGAIN	called by a signal handler at a moment at which it cannot be done
static inline int ctp_set_name(const char *name)
{
	int (*f)(const void *, const char *) = ctp_task_find();
	return f ? f((const void *)0, name) : 0;
}

// The same for another one, also before it first runs: the one that was made in, or last saved
// itself into, the ucontext_t (jmp_buf, fcontext_t) at `of`, or in whose stack `of` lies.
// ESRCH: there is none. Two names given at once to one coroutine: either may be the one that stays.
static inline int ctp_set_name_of(const void *of, const char *name)
{
	int (*f)(const void *, const char *) = ctp_task_find();
	return f && of ? f(of, name) : 0;
}

#ifdef __cplusplus
}
#endif
#endif
