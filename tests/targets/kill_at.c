// SPDX-License-Identifier: MIT
//
// kill-at N PROGRAM [ARGS...]: runs it, and kills it with SIGKILL when it is about to make its
// N-th system call that changes what is in a file system. What a killed process leaves behind changes
// by those calls alone, so all N together are all instants. N@CALL: its N-th call of ptrace (by which it holds
// others), of one by which it waits, or of pread64. N@sleeps: the sleep with which it has asked for N milliseconds in
// all (sleeps of less than one do not count). The program's children are not touched.
// Prints "killed CALL", or "ended STATUS" if there is no N-th; exits with 2 if nothing can be traced here.
#include <fcntl.h>
#include <linux/ptrace.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "must.h"

// glibc's ptrace(2) and the kernel's header do not go together.
static long trace(long request, pid_t pid, long arg, const void *data)
{
	return syscall(SYS_ptrace, request, (long)pid, arg, data);
}

static int changes_files(const struct ptrace_syscall_info *info)
{
	static const uint64_t calls[] = {
		SYS_mkdirat, SYS_renameat2, SYS_unlinkat, SYS_symlinkat, SYS_linkat, SYS_bind, SYS_ftruncate, SYS_write, SYS_pwrite64,
		SYS_pwritev, SYS_copy_file_range, SYS_flock,
#ifdef SYS_mkdir
		SYS_mkdir, SYS_rename, SYS_renameat, SYS_unlink, SYS_rmdir, SYS_symlink, SYS_link,
#endif
	};
	for (unsigned i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (info->entry.nr == calls[i])
			return 1;
	return info->entry.nr == SYS_openat && info->entry.args[2] & O_CREAT;
}

// How many milliseconds of sleep it asks for.
static long sleeps_ms(pid_t pid, const struct ptrace_syscall_info *info)
{
	struct timespec t = {0, 0};
	struct iovec here = {&t, sizeof(t)};
	uint64_t at = info->entry.args[info->entry.nr == SYS_clock_nanosleep ? 2 : 0];
	struct iovec there = {(void *)at, sizeof(t)};
	if (info->entry.nr != SYS_nanosleep && info->entry.nr != SYS_clock_nanosleep)
		return 0;
	return process_vm_readv(pid, &here, 1, &there, 1, 0) == sizeof(t) ? t.tv_sec * 1000 + t.tv_nsec / 1000000 : 0;
}

static int is_call(const struct ptrace_syscall_info *info, const char *name)
{
	static const struct { const char *name; uint64_t call; } calls[] = {
		{"ptrace", SYS_ptrace}, {"nanosleep", SYS_nanosleep}, {"clock_nanosleep", SYS_clock_nanosleep}, {"futex", SYS_futex}, {"ppoll", SYS_ppoll}, {"pread64", SYS_pread64},
#ifdef SYS_poll
		{"poll", SYS_poll},
#endif
	};
	for (unsigned i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (!strcmp(name, calls[i].name) && info->entry.nr == calls[i].call)
			return 1;
	return 0;
}

static long counts(pid_t pid, const struct ptrace_syscall_info *info, const char *at)
{
	if (!at)
		return changes_files(info);
	return strcmp(at, "@sleeps") ? is_call(info, at + 1) : sleeps_ms(pid, info);
}

static void end(int status)
{
	printf("ended %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	exit(0);
}

int main(int argc, char **argv)
{
	long left = argc > 2 ? atol(argv[1]) : 0;
	const char *at = argc > 2 ? strchr(argv[1], '@') : NULL;
	int status;
	long pass = 0;
	pid_t pid = (pid_t)must(fork());
	if (!pid) {
		if (trace(PTRACE_TRACEME, 0, 0, NULL))
			_exit(126);
		raise(SIGSTOP);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	must(waitpid(pid, &status, 0));
	if (!WIFSTOPPED(status) || trace(PTRACE_SETOPTIONS, pid, 0, (void *)(PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD)))
		return 2;
	for (;;) {
		struct ptrace_syscall_info info;
		must(trace(PTRACE_SYSCALL, pid, 0, (void *)pass));
		must(waitpid(pid, &status, 0));
		if (!WIFSTOPPED(status))
			end(status);
		pass = WSTOPSIG(status) & 0x80 ? 0 : WSTOPSIG(status);
		if (pass == SIGTRAP)
			pass = 0;
		if (!(WSTOPSIG(status) & 0x80) || trace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) <= 0 ||
		    info.op != PTRACE_SYSCALL_INFO_ENTRY ||
		    (left -= counts(pid, &info, at)) > 0)
			continue;
		must(kill(pid, SIGKILL));
		while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status))
			;
		printf("killed %d\n", (int)info.entry.nr);
		return 0;
	}
}
