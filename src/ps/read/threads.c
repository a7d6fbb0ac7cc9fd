// SPDX-License-Identifier: MIT
//
// Where threads are. A thread's registers cannot be read without stopping it, but a thread in
// a hooked call has left them: the hook stored which call it is and its caller's registers in
// the thread's row. /proc says whether the thread runs or sleeps, in which system call, and
// with which stack pointer. A walked stack counts if all of that is unchanged afterwards. Of a
// thread that computes, only that is known.
#include "ps/read/threads.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/calls.h"
#include "base/idmap.h"

enum { CALL_NONE = -1, CALL_RUNS = -2, CALL_UNKNOWN = -3 };

struct call { // as /proc says it
	char text[160];
	long nr; // or one of the above
	uint64_t sp, pc;
};

// ------------------------------------------------------------------- /proc

static bool task_file(pid_t pid, pid_t tid, const char *name, char *to, size_t bytes)
{
	char path[80];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, to, bytes - 1) : -1;
	if (fd >= 0)
		close(fd);
	to[n > 0 ? n : 0] = 0;
	return n > 0;
}

static void read_call(pid_t pid, pid_t tid, struct call *c)
{
	long long nr;
	unsigned long long sp, pc;
	*c = (struct call){.nr = CALL_UNKNOWN};
	if (!task_file(pid, tid, "syscall", c->text, sizeof(c->text)))
		return;
	if (!strncmp(c->text, "running", 7)) {
		c->nr = CALL_RUNS;
	} else if (sscanf(c->text, "%lld %*x %*x %*x %*x %*x %*x %llx %llx", &nr, &sp, &pc) == 3 && nr >= 0) {
		c->nr = (long)nr;
		c->sp = sp;
		c->pc = pc;
	} else {
		c->nr = CALL_NONE;
	}
}

static char read_state(pid_t pid, pid_t tid)
{
	char text[128];
	char *end = task_file(pid, tid, "stat", text, sizeof(text)) ? strrchr(text, ')') : NULL;
	return end && end[1] == ' ' && isalpha((unsigned char)end[2]) ? end[2] : 0;
}

static void read_wchan(pid_t pid, pid_t tid, char *to, size_t bytes)
{
	task_file(pid, tid, "wchan", to, bytes);
	to[strcspn(to, "\n")] = 0;
	if (!strcmp(to, "0"))
		*to = 0;
	find_clean(to);
}

// The last number of NSpid, or 0: the thread's id as the program itself sees it.
static uint32_t inner_id(pid_t pid, pid_t tid)
{
	char text[4096];
	if (!task_file(pid, tid, "status", text, sizeof(text)))
		return 0;
	char *at = strstr(text, "\nNSpid:"), *end;
	uint32_t id = 0;
	if (at)
		at += 7;
	for (unsigned long v; at && *at != '\n' && (v = strtoul(at, &end, 10), end != at); at = end) {
		id = (uint32_t)v;
		if (*end == '\n')
			break;
	}
	return id;
}

// Ids as seen from here, by those that the program sees; empty where they are the same.
static void read_ids(struct idmap *ids, pid_t pid)
{
	char path[40];
	uint32_t own = inner_id(pid, pid);
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *d = own && own != (uint32_t)pid ? opendir(path) : NULL;
	for (struct dirent *e; d && (e = readdir(d));)
		if (isdigit((unsigned char)*e->d_name))
			idmap_set(ids, inner_id(pid, atoi(e->d_name)), (uint32_t)atoi(e->d_name));
	if (d)
		closedir(d);
}

// ------------------------------------------------------------------- in words

static const char *block_name(int what)
{
	static const char *const names[] = {
		[CTP_BLOCK_SLEEP] = "a sleep",           [CTP_BLOCK_LOCK] = "a wait for a lock",
		[CTP_BLOCK_COND] = "a condition's wait", [CTP_BLOCK_SEM] = "a semaphore's wait",
		[CTP_BLOCK_JOIN] = "pthread_join",       [CTP_BLOCK_CHILD] = "a wait for a child",
		[CTP_BLOCK_NAME] = "getaddrinfo",        [CTP_BLOCK_FILE] = "flock"};
	return what > 0 && (size_t)what < sizeof(names) / sizeof(*names) ? names[what] : NULL;
}

static void put_kernel_call(const struct call *c, char *to, size_t bytes)
{
	if (c->nr == CALL_RUNS)
		snprintf(to, bytes, "on a CPU");
	else if (c->nr >= 0)
		calls_name(c->nr, to, bytes);
	else
		*to = 0;
}

// By the hook that it is in; the kernel's word for it where that says more.
static void put_call(const struct ctp_thread *row, const struct call *c, char *to, size_t bytes)
{
	char name[64];
	const char *block;
	if (!(row->wait_seq & 1)) {
		put_kernel_call(c, to, bytes);
		return;
	}
	switch (row->wait_call) {
	case CTP_IN_EPOLL:
		snprintf(to, bytes, "epoll_wait on fd %d", row->wait_fd);
		break;
	case CTP_IN_IO:
		snprintf(to, bytes, "%s of fd %d",
			 c->nr >= 0 ? calls_name(c->nr, name, sizeof(name)) : "a read or write",
			 row->wait_fd);
		break;
	case CTP_IN_POLL:
		snprintf(to, bytes, "poll");
		break;
	case CTP_IN_SELECT:
		snprintf(to, bytes, "select");
		break;
	case CTP_IN_EXIT:
		snprintf(to, bytes, "its exit");
		break;
	default:
		block = row->wait_call == CTP_IN_BLOCK ? block_name(row->wait_fd) : NULL;
		if (block)
			snprintf(to, bytes, "%s", block);
		else
			put_kernel_call(c, to, bytes);
	}
}

// ------------------------------------------------------------------- threads

static const struct coroutine *current(const struct tables *t, const struct tables_thread *th,
				       const struct idmap *running)
{
	uint32_t at = th->current ? idmap_get(running, th->current) : IDMAP_NONE;
	return at == IDMAP_NONE ? NULL : &t->coroutines[at];
}

static int walk(struct threads_one *one, const struct found *f, const struct coroutine *c,
		const struct ctp_thread *row, uint64_t row_off, const struct call *call, struct stacks *s)
{
	struct ctp_state from = {.lo = c ? c->lo : 0, .hi = c ? c->hi : 0};
	struct ctp_thread after;
	struct call again;
	bool hooked = row->wait_seq & 1;
	uint32_t number = 0;
	if (hooked)
		memcpy(from.regs, row->wait_regs, sizeof(from.regs));
	else if (call->nr >= 0 && call->pc)
		from.regs[CTP_REG_PC] = call->pc, from.regs[CTP_REG_SP] = call->sp;
	else
		return 0;
	int e = stacks_walk(s, &from, &number);
	read_call(f->pid, one->tid, &again);
	bool same = !strcmp(call->text, again.text) && call->nr != CALL_RUNS;
	if (!e && number && hooked)
		same = !source_read(&f->region, row_off, &after, sizeof(after)) &&
		       after.wait_seq == row->wait_seq;
	if (!e && number && same)
		one->stack = number;
	return e;
}

// In a core: what a hook noted, and where the one was that died.
static int look_core(struct threads_one *one, const struct found *f, const struct ctp_thread *row,
		     struct stacks *s)
{
	const struct ctp_crash *crash = &f->header.ext.crash;
	const struct call none = {.nr = CALL_UNKNOWN};
	put_call(row, &none, one->call, sizeof(one->call));
	return crash->ready == 1 && crash->tid == row->tid ? stacks_recorded(s, crash->stack, &one->stack) :
							     0;
}

static int look(struct threads_one *one, const struct found *f, const struct tables *t,
		const struct tables_thread *th, const struct idmap *ids, const struct idmap *running,
		struct stacks *s)
{
	uint64_t off = f->header.ext.threads_off + th->slot * sizeof(struct ctp_thread);
	uint32_t outer = ids->n ? idmap_get(ids, th->tid) : th->tid;
	struct ctp_thread row;
	struct call call;
	int e = source_read(&f->region, off, &row, sizeof(row));
	if (e || outer == IDMAP_NONE || row.tid != th->tid || row.life != CTP_THREAD_LIVE)
		return e;
	one->tid = (pid_t)outer;
	if (f->core)
		return look_core(one, f, &row, s);
	one->state = read_state(f->pid, one->tid);
	read_call(f->pid, one->tid, &call);
	read_wchan(f->pid, one->tid, one->wchan, sizeof(one->wchan));
	put_call(&row, &call, one->call, sizeof(one->call));
	if ((row.wait_seq & 1) && row.wait_call != CTP_IN_BLOCK)
		one->waits_ns = tables_age_ns(t, row.wait_since);
	return walk(one, f, current(t, th, running), &row, off, &call, s);
}

int threads_look(struct threads *out, const struct found *f, const struct tables *t, struct stacks *s)
{
	struct threads got = {.v = calloc(t->nthreads ? t->nthreads : 1, sizeof(*got.v)), .n = t->nthreads};
	struct idmap ids = {0}, running = {0};
	int e = got.v ? 0 : -ENOMEM;
	if (!f->core)
		read_ids(&ids, f->pid);
	for (size_t i = 0; !e && i < t->n; i++)
		if (t->coroutines[i].life == CTP_RUNNING)
			e = idmap_set(&running, t->coroutines[i].id, (uint32_t)i);
	for (size_t i = 0; !e && i < got.n; i++)
		e = look(&got.v[i], f, t, &t->threads[i], &ids, &running, s);
	idmap_deinit(&ids);
	idmap_deinit(&running);
	if (e)
		threads_deinit(&got);
	else
		*out = got;
	return e;
}

void threads_deinit(struct threads *t)
{
	free(t->v);
	*t = (struct threads){0};
}
