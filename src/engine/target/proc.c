// SPDX-License-Identifier: MIT
//
// Readers of /proc/PID. They trust neither the length nor the format of what they read. A file that
// is gone, since the thread ended meanwhile, is an error that the caller passes over.
#include "engine/target/proc.h"
#include "base/living.h"
#include "base/search.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

uint64_t proc_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int slurp_path(const char *path, char **text, size_t *bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	size_t room = 16384, n = 0;
	char *b = malloc(room);
	int r = b ? 0 : -ENOMEM;
	while (!r) {
		ssize_t k = read(fd, b + n, room - 1 - n);
		if (k <= 0) {
			r = k < 0 ? -errno : 0;
			break;
		}
		n += (size_t)k;
		if (room - 1 - n < room / 4) {
			char *more = realloc(b, room *= 2);
			if (!more)
				r = -ENOMEM;
			else
				b = more;
		}
	}
	close(fd);
	if (r) {
		free(b);
		return r;
	}
	b[n] = 0;
	*text = b;
	if (bytes)
		*bytes = n;
	return 0;
}

// What the process is, and not what it has: that stays by its own number.
static bool is_own(const char *name)
{
	return !strcmp(name, "stat") || !strcmp(name, "status") || !strncmp(name, "task/", 5) ||
	       !strncmp(name, "../", 3);
}

int proc_slurp(pid_t pid, const char *name, char **text, size_t *bytes)
{
	char path[128];
	snprintf(path, sizeof(path), "/proc/%d/%s", is_own(name) ? pid : living_of(pid), name);
	return slurp_path(path, text, bytes);
}

bool proc_fd_link(pid_t pid, int fd, char *link, size_t bytes)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", living_of(pid), fd);
	ssize_t n = readlink(path, link, bytes - 1);
	if (n < 0)
		return false;
	link[n] = 0;
	return true;
}

uint64_t proc_field(const char *text, const char *key, int base)
{
	const char *at = strstr(text, key);
	return at ? strtoull(at + strlen(key), NULL, base) : 0;
}

bool proc_fd_awaits_fds(pid_t pid, int fd)
{
	char name[40], *text;
	snprintf(name, sizeof(name), "fdinfo/%d", fd);
	if (proc_slurp(pid, name, &text, NULL))
		return false; // closed meanwhile
	bool some = proc_field(text, "\nscm_fds:", 10) != 0;
	free(text);
	return some;
}

// -------------------------------------------------------------------- threads

// A short file of one thread into `to`, without malloc: this runs often.
static bool task_file(pid_t pid, int tid, const char *name, char *to, size_t bytes)
{
	char path[96];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, to, bytes - 1);
	close(fd);
	if (n < 0)
		return false;
	to[n] = 0;
	return true;
}

static void task_syscall(const char *s, struct proc_task *t)
{
	t->nr = PROC_NO_SYSCALL;
	if (!strncmp(s, "running", 7)) {
		t->nr = PROC_ON_CPU;
		return;
	}
	long long nr;
	unsigned long long a[6], sp, pc;
	int n = sscanf(s, "%lld %llx %llx %llx %llx %llx %llx %llx %llx", &nr, &a[0], &a[1], &a[2], &a[3],
		       &a[4], &a[5], &sp, &pc);
	if (n == 9 && nr >= 0) {
		t->nr = nr;
		for (int i = 0; i < 6; i++)
			t->args[i] = a[i];
		t->sp = sp;
		t->pc = pc;
	} else if (n >= 3 && nr == -1) {
		t->nr = PROC_NOT_IN_SYSCALL;
		t->sp = a[0];
		t->pc = a[1];
	}
}

// The kernel lets some calls go on after a stop under a number of its own, with the arguments
// that they had. What they are, it says by where it sleeps.
static void name_restarted(struct proc_task *t)
{
#ifdef SYS_poll
	static const long poll_nr = SYS_poll;
#else
	static const long poll_nr = SYS_ppoll;
#endif
	if (t->nr != SYS_restart_syscall)
		return;
	t->restarted = true;
	if (strstr(t->wchan, "poll"))
		t->nr = poll_nr;
	else if (!strncmp(t->wchan, "futex_", 6))
		t->nr = SYS_futex;
	else if (strstr(t->wchan, "nanosleep") || !strcmp(t->wchan, "do_syscall_64")) // called at a tail
		t->nr = SYS_clock_nanosleep;
}

bool proc_task_read(pid_t pid, int tid, bool deep, struct proc_task *t)
{
	char text[4096];
	*t = (struct proc_task){.tid = tid, .slot = -1, .nr = PROC_NO_SYSCALL};
	if (!task_file(pid, tid, "status", text, sizeof(text)))
		return false;
	const char *state = strstr(text, "\nState:\t");
	t->state = state ? state[8] : '?';
	t->tracer = (int)proc_field(text, "\nTracerPid:", 10);
	t->pending = proc_field(text, "\nSigPnd:", 16) | proc_field(text, "\nShdPnd:", 16);
	t->heard = proc_field(text, "\nSigBlk:", 16) | proc_field(text, "\nSigCgt:", 16);
	t->switches = proc_field(text, "\nvoluntary_ctxt_switches:", 10) +
		      proc_field(text, "\nnonvoluntary_ctxt_switches:", 10);
	if (task_file(pid, tid, "schedstat", text, sizeof(text))) {
		char *end;
		t->run_ns = strtoull(text, &end, 10);
		t->delay_ns = strtoull(end, NULL, 10);
	}
	if (!deep)
		return true;
	if (task_file(pid, tid, "syscall", text, sizeof(text)))
		task_syscall(text, t);
	if (!task_file(pid, tid, "wchan", t->wchan, sizeof(t->wchan)))
		t->wchan[0] = 0;
	name_restarted(t);
	return true;
}

int proc_tasks_read(pid_t pid, bool deep, struct proc_tasks *out)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *d = opendir(path);
	if (!d)
		return -errno;
	struct proc_tasks t = {0};
	size_t room = 0;
	int r = 0;
	for (struct dirent *e; !r && (e = readdir(d));) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		if (t.n == room) {
			room = room ? room * 2 : 16;
			struct proc_task *more = realloc(t.v, room * sizeof(*more));
			if (!more) {
				r = -ENOMEM;
				break;
			}
			t.v = more;
		}
		if (proc_task_read(pid, atoi(e->d_name), deep, &t.v[t.n]))
			t.n++;
	}
	closedir(d);
	if (!r && !t.n)
		r = -ESRCH;
	if (r)
		free(t.v);
	else
		*out = t;
	return r;
}

void proc_tasks_deinit(struct proc_tasks *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->v[i].vectors);
	free(t->v);
	*t = (struct proc_tasks){0};
}

bool proc_tasks_stopped(const struct proc_tasks *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (proc_task_stopped(&t->v[i]))
			return true;
	return false;
}

// Its state alone, for the price of one small file.
static bool task_state(pid_t pid, int tid, struct proc_task *t)
{
	char text[512];
	if (!task_file(pid, tid, "stat", text, sizeof(text)))
		return false;
	const char *state = strrchr(text, ')'); // PID (NAME) STATE
	*t = (struct proc_task){.tid = tid, .state = state && state[1] ? state[2] : '?'};
	return true;
}

bool proc_stopped(pid_t pid)
{
	struct proc_task t;
	return task_state(pid, living_of(pid), &t) && proc_task_stopped(&t);
}

static bool task_asleep(const struct proc_task *t)
{
	return t->state == 'S' || proc_task_dead(t);
}

bool proc_tasks_asleep(const struct proc_tasks *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (!task_asleep(&t->v[i]))
			return false;
	return true;
}

bool proc_asleep(pid_t pid, bool *stopped)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *d = opendir(path);
	bool asleep = true;
	size_t n = 0;
	*stopped = false;
	for (struct dirent *e; d && (e = readdir(d));) {
		struct proc_task t;
		if (!isdigit((unsigned char)e->d_name[0]) || !task_state(pid, atoi(e->d_name), &t))
			continue;
		n++;
		asleep &= task_asleep(&t);
		*stopped |= proc_task_stopped(&t);
	}
	if (d)
		closedir(d);
	return asleep && n;
}

bool proc_tasks_still(const struct proc_tasks *before, const struct proc_tasks *after)
{
	if (before->n != after->n || !before->n)
		return false;
	for (size_t i = 0; i < before->n; i++) {
		const struct proc_task *a = &before->v[i], *b = &after->v[i];
		if (a->tid != b->tid || a->switches != b->switches || a->run_ns != b->run_ns)
			return false;
		if (proc_task_dead(a) && proc_task_dead(b))
			continue;
		if (a->state != 'S' || b->state != 'S' || a->nr == PROC_ON_CPU || b->nr == PROC_ON_CPU)
			return false;
	}
	return true;
}

// ------------------------------------------------------------------- mappings

int proc_maps_read(pid_t pid, struct proc_maps *out)
{
	struct proc_maps m = {0};
	size_t bytes;
	int r = proc_slurp(pid, "maps", &m.text, &bytes);
	if (r)
		return r;
	size_t lines = 0;
	for (size_t i = 0; i < bytes; i++)
		lines += m.text[i] == '\n';
	m.v = calloc(lines + 1, sizeof(*m.v));
	if (!m.v) {
		free(m.text);
		return -ENOMEM;
	}
	for (char *line = m.text, *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = 0;
		if (m.n < lines && maps_parse(line, &m.v[m.n])) {
			struct maps_line *l = &m.v[m.n++];
			if (m.n > 1 && l[-1].hi == l->lo && !*l[-1].path)
				l->nameless = l[-1].nameless + 1;
		}
	}
	*out = m;
	return 0;
}

void proc_maps_deinit(struct proc_maps *m)
{
	free(m->v);
	free(m->text);
	*m = (struct proc_maps){0};
}

const struct maps_line *proc_maps_find(const struct proc_maps *m, uint64_t addr)
{
	size_t lo = FIRST_NOT(m->n, i, m->v[i].hi <= addr);
	return lo < m->n && m->v[lo].lo <= addr ? &m->v[lo] : NULL;
}

// --------------------------------------------------------------------- memory

// --------------------------------------------------------------------- images

bool proc_random(pid_t pid, unsigned char bytes[PROC_RANDOM])
{
	char *text;
	size_t n;
	uint64_t at = 0, pair[2];
	if (proc_slurp(pid, "auxv", &text, &n))
		return false;
	for (size_t i = 0; i + sizeof(pair) <= n; i += sizeof(pair)) {
		memcpy(pair, text + i, sizeof(pair));
		if (pair[0] == AT_RANDOM)
			at = pair[1];
	}
	free(text);
	return at && proc_peek(pid, at, bytes, PROC_RANDOM, false) == PROC_RANDOM;
}
