// SPDX-License-Identifier: MIT
//
// proc.h - reading /proc/PID: threads, mappings, descriptors, memory.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/maps.h"
#include "search/memory/memory.h"

uint64_t proc_now_ns(void); // CLOCK_MONOTONIC

// The whole of /proc/PID/<name>, NUL-terminated, for free(). -errno on failure.
int proc_slurp(pid_t pid, const char *name, char **text, size_t *bytes);
// The target of /proc/PID/fd/FD. False if it is not open (or not to be seen).
bool proc_fd_link(pid_t pid, int fd, char *link, size_t bytes);
// Value of `key` ("SigCgt:") in a status file's text, read in this base; 0 if it is not there.
uint64_t proc_field(const char *text, const char *key, int base);
// Do messages wait in this socket that carry descriptors? They may have no bytes. Linux 5.11 and later tell.
bool proc_fd_awaits_fds(pid_t pid, int fd);

// -------------------------------------------------------------------- threads

enum { PROC_NOT_IN_SYSCALL = -1, PROC_ON_CPU = -2, PROC_NO_SYSCALL = -3 };

struct proc_task {
	int tid, tracer;
	char state;         // R S D T t Z X, as /proc says
	int slot;           // of the thread table, -1 = not in it; set by the caller
	bool hooked;        // asleep in a hook that left its registers; set by the caller
	unsigned inherited; // callee-saved registers of that hook which no frame can use; enum ctp_reg. By
			    // the caller
	bool got_regs;      // regs were taken by ptrace
	uint64_t pending;   // signals that wait for it
	uint64_t heard;     // those that the program could see: caught, or blocked and asked for
	uint64_t switches;  // context switches, of either kind
	uint64_t run_ns;    // time on a CPU, where the kernel keeps it
	uint64_t delay_ns;  // time for which it could have run, and others did
	int64_t nr;         // system call it sleeps in, or one of the above
	bool restarted;     // it was stopped in it once, and went on: a poll or a timed sleep
	uint64_t args[6], sp, pc;
	char wchan[40];
	uint64_t regs[32];      // general purpose, if got_regs
	int64_t result;         // what its call is about to return, if got_regs
	unsigned char *vectors; // the other registers, if got_regs; for free()
	size_t vector_bytes;
	int stop_signal; // on its way when it was stopped
};

struct proc_tasks {
	struct proc_task *v;
	size_t n;
};

// Reads one thread; `deep` as below. False if it is gone.
bool proc_task_read(pid_t pid, int tid, bool deep, struct proc_task *t);
// Reads all threads; `deep`: also system call and wait channel. 0 or -errno.
int proc_tasks_read(pid_t pid, bool deep, struct proc_tasks *out);
void proc_tasks_deinit(struct proc_tasks *t);
// True if all threads slept at both looks and none ran in between.
bool proc_tasks_still(const struct proc_tasks *before, const struct proc_tasks *after);
// Stands still by no doing of its own: by a signal, or in a debugger's hands.
static inline bool proc_task_stopped(const struct proc_task *t)
{
	return t->state == 'T' || t->state == 't';
}
bool proc_tasks_stopped(const struct proc_tasks *t);
// The same of a process as a whole, as its first living thread has it: cheap.
bool proc_stopped(pid_t pid);
// Does every thread sleep that is not gone for good?
bool proc_tasks_asleep(const struct proc_tasks *t);
// The same of what /proc says now; *stopped: one stands still.
bool proc_asleep(pid_t pid, bool *stopped);
// A thread that is gone for good keeps nothing.
static inline bool proc_task_dead(const struct proc_task *t)
{
	return t->state == 'Z' || t->state == 'X';
}

// ------------------------------------------------------------------- mappings

struct proc_maps {
	struct maps_line *v;
	size_t n;
	char *text;
};

int proc_maps_read(pid_t pid, struct proc_maps *out);
void proc_maps_deinit(struct proc_maps *m);
const struct maps_line *proc_maps_find(const struct proc_maps *m, uint64_t addr);

// --------------------------------------------------------------------- memory

// Bytes read from `addr` on: less than asked at the first hole. Also reads
// what the program itself may not (PROT_NONE) if `force`.
static inline size_t proc_peek(pid_t pid, uint64_t addr, void *to, size_t bytes, bool force)
{
	return memory_peek_process(pid, addr, to, bytes, force);
}

// --------------------------------------------------------------------- images

// The random bytes (AT_RANDOM) that the kernel gives to each image: a fork has its parent's until it calls
// exec.
enum { PROC_RANDOM = 16 };
bool proc_random(pid_t pid, unsigned char bytes[PROC_RANDOM]);
