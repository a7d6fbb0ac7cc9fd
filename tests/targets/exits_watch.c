// SPDX-License-Identifier: MIT
//
// exits_watch.c LIBRARY PROGRAM [ARGS...] - runs the program under ptrace, with LIBRARY preloaded
// and CTP_OUTPUT=watched.data, and prints each system call instruction of the library that is
// executed after the first exit handler has begun (exits.h), as long as the process has other
// threads. (What a hook calls by way of libc is the program's own call, passed on.) The last line
// says whether a handler was seen, and how many such calls there were. Exits as the program did.
#include <elf.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exits.h"
#include "must.h"

enum { TASKS = 4096 };

static struct task {
	pid_t tid;
	bool inside; // a system call
} tasks[TASKS];
static unsigned ntasks, alive;
static uint64_t lo, hi; // the library's code
static const char *library;

static struct task *task_of(pid_t tid)
{
	for (unsigned i = 0; i < ntasks; i++)
		if (tasks[i].tid == tid)
			return &tasks[i];
	if (ntasks == TASKS)
		exit(97);
	tasks[ntasks].tid = tid;
	alive++;
	return &tasks[ntasks++];
}

static void find_library(pid_t pid)
{
	char path[64], line[4400], perms[8];
	unsigned long from, to;
	const char *slash = strrchr(library, '/');
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %7s", &from, &to, perms) == 3 && perms[2] == 'x' && strstr(line, slash ? slash : library)) {
			lo = from;
			hi = to;
		}
	if (f)
		fclose(f);
}

static unsigned calls;
static bool marked;

// At the entry to a system call.
static void entered(pid_t pid, pid_t tid)
{
	struct user_regs_struct r;
	struct iovec v = {&r, sizeof(r)};
	if (ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)NT_PRSTATUS, &v))
		return;
	if (r.orig_rax == SYS_getpriority && (int)r.rdi == MARK && (int)r.rsi == MARK) {
		if (!marked)
			find_library(pid);
		marked = true;
		return;
	}
	if (!marked || alive < 2)
		return;
	if (r.rip < lo || r.rip >= hi)
		return;
	printf("call %llu at %#llx of the library's code\n", r.orig_rax, r.rip - lo);
	fflush(stdout);
	calls++;
}

int main(int argc, char **argv)
{
	int status, code = 96;
	if (argc < 3)
		return 96;
	library = argv[1];
	pid_t pid = (pid_t)must(fork()), tid;
	if (!pid) {
		must(setenv("LD_PRELOAD", library, 1));
		must(setenv("CTP_OUTPUT", "watched.data", 1));
		must(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
		raise(SIGSTOP);
		execv(argv[2], argv + 2);
		_exit(95);
	}
	must(waitpid(pid, &status, 0));
	must(ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(uintptr_t)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL)));
	task_of(pid);
	must(ptrace(PTRACE_SYSCALL, pid, NULL, NULL));
	while ((tid = waitpid(-1, &status, __WALL)) > 0) {
		struct task *t = task_of(tid);
		int sig = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
		if (!WIFSTOPPED(status)) {
			t->tid = 0;
			alive--;
			if (tid == pid)
				code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
			continue;
		}
		if (sig == (SIGTRAP | 0x80)) {
			t->inside = !t->inside;
			if (t->inside)
				entered(pid, tid);
			sig = 0;
		} else if (sig == SIGTRAP || sig == SIGSTOP) {
			sig = 0; // exec, a new thread
		}
		ptrace(PTRACE_SYSCALL, tid, NULL, (void *)(uintptr_t)sig);
	}
	printf("handlers %d, calls %u\n", marked, calls);
	fflush(stdout);
	return code;
}
