// SPDX-License-Identifier: MIT
//
// fork.h - what the files of t-fork share.
#pragma once

#include <sys/types.h>
#include <ucontext.h>

#define FIBER_BYTES 65536

struct fiber {
	ucontext_t uc;
	char *stack;
	int turns;
};

extern unsigned long made, switched;
extern const char *self;
void tell(void);
void child_begins(void);
void swap(ucontext_t *from, ucontext_t *to); // counted
void make(struct fiber *f, void (*fn)(void), ucontext_t *link); // counted
void work(int turns);
void work_and_exit(void) __attribute__((noreturn));
pid_t forked(void (*child)(void));
void reap(pid_t pid);

void case_inside(int n);
void case_goes_on(int n);
void case_unbegun(int n);
void case_pool(int n);
void case_exec(int n);
void case_worked(int n);
void case_late(int n);
void case_vfork(int n);
void case_spawn(int n);
void case_system(int n);
void case_popen(int n);
void case_unset(int n);
void case_clearenv(int n);
void case_static(int n);
void case_closeall(int n);
void case_chdir(int n);
void case_chroot(int n);
void case_setuid(int n);
void case_setuid_exec(int n);
void case_setuid_first(int n);
void case_chroot_first(int n);
void case_outlive(int n);
void case_sleeper(int n);
void case_lost(int n);
