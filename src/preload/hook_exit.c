// SPDX-License-Identifier: MIT
//
// The end of the program, as early as it can be seen: main returning, exit,
// quick_exit, _exit. What comes after (atexit handlers, destructors) closes
// descriptors under waiters by the dozen and proves nothing. The last snapshot
// is asked for where nothing of ours runs any more: here for _exit and
// quick_exit, for the others by the library's destructor.
#include "hook.h"

static void exit_begins(enum ctp_exit how, int status, const struct frame *f, bool last)
{
	struct guest *g = hook_enter();
	if (!g)
		return;
	attach_exit_begins(g, how, status, guest_stack(g, f));
	if (last)
		attach_wait_final(g);
	guest_leave(g);
}

#define EXIT_HOOK(name, how, last) \
	CTP_HOOK void name(int status) \
	{ \
		struct frame f; \
		CPU_CALLER(&f); \
		exit_begins(how, status, &f, last); \
		real_##name(status); \
		__builtin_unreachable(); \
	}

EXIT_HOOK(exit, CTP_EXIT_EXIT, false)
EXIT_HOOK(_exit, CTP_EXIT__EXIT, true)
EXIT_HOOK(_Exit, CTP_EXIT__EXIT, true)
EXIT_HOOK(quick_exit, CTP_EXIT_QUICK, true)

// ------------------------------------------------------------- main's return

static int (*program_main)(int, char **, char **);

static int main_wrapped(int argc, char **argv, char **envp)
{
	struct frame f;
	int status = program_main(argc, argv, envp);
	CPU_CALLER(&f);
	exit_begins(CTP_EXIT_MAIN, status, &f, false);
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
