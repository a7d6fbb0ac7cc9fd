// SPDX-License-Identifier: MIT
//
// The end of the program, as early as it can be noticed: main returns, exit, quick_exit,
// _exit. What follows (exit handlers, destructors) closes many descriptors under waiting
// coroutines and proves nothing, so the final inspection happens here, before any of it
// (exit.h). An exit in a signal handler that interrupted another hook is noted, but not
// inspected.
#include <linux/seccomp.h>
#include <stdarg.h>

#include "preload/guest/exit.h"
#include "preload/guest/filter.h"
#include "preload/hooks/hook.h"

static void begins(enum ctp_exit how, int status, const struct frame *f)
{
	struct thread_ctx *g = hook_enter();
	exit_begins(g, how, status, g ? guest_stack(g, f) : 0);
	if (g)
		guest_leave(g);
}

#define EXIT_HOOK(name, how) \
	CTP_HOOK void name(int status) \
	{ \
		struct frame f; \
		CPU_CALLER(&f); \
		begins(how, status, &f); \
		real_##name(status); \
		__builtin_unreachable(); \
	}

EXIT_HOOK(exit, CTP_EXIT_EXIT)
EXIT_HOOK(_exit, CTP_EXIT__EXIT)
EXIT_HOOK(_Exit, CTP_EXIT__EXIT)
EXIT_HOOK(quick_exit, CTP_EXIT_QUICK)

CTP_HOOK int pthread_create(pthread_t *restrict t, const pthread_attr_t *restrict attr, void *(*fn)(void *),
			    void *restrict arg)
{
	exit_watch_thread();
	return real_pthread_create(t, attr, fn, arg);
}

// A filter for system calls, which kills: the end is to be the program's own.
CTP_HOOK int prctl(int option, ...)
{
	va_list ap;
	va_start(ap, option);
	unsigned long a = va_arg(ap, unsigned long), b = va_arg(ap, unsigned long),
		      c = va_arg(ap, unsigned long), d = va_arg(ap, unsigned long);
	va_end(ap);
	int r = real_prctl(option, a, b, c, d);
	if (option == PR_SET_SECCOMP && r == 0)
		filter_note(a == SECCOMP_MODE_FILTER ? (const void *)b : NULL);
	return r;
}

// The same by seccomp(2), which libc has no function for: from the trampoline of syscall.
long hook_seccomp(long nr, unsigned long how, unsigned long flags, const void *program);
long hook_seccomp(long nr, unsigned long how, unsigned long flags, const void *program)
{
	long r = real_syscall(nr, how, flags, program);
	bool set = r == 0 || (r > 0 && (flags & SECCOMP_FILTER_FLAG_NEW_LISTENER)); // else a thread's number
	if (set && (how == SECCOMP_SET_MODE_FILTER || how == SECCOMP_SET_MODE_STRICT))
		filter_note(how == SECCOMP_SET_MODE_FILTER ? program : NULL);
	return r;
}

// ------------------------------------------------------------- main's return

static int (*program_main)(int, char **, char **);

static int main_wrapped(int argc, char **argv, char **envp)
{
	struct frame f;
	int status = program_main(argc, argv, envp);
	CPU_CALLER(&f);
	begins(CTP_EXIT_MAIN, status, &f);
	return status;
}

CTP_HOOK int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
			       void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
	if (!ctp_tracer->attached)
		return real___libc_start_main(main, argc, argv, init, fini, rtld_fini, stack_end);
	program_main = main;
	return real___libc_start_main(main_wrapped, argc, argv, init, fini, rtld_fini, stack_end);
}
