// SPDX-License-Identifier: MIT
//
// kcmp tells which open files of two processes are one. A child shares everything between fork
// and exec, and a program after exec does not know what it inherited: the 16 random bytes that
// the kernel gives each image (AT_RANDOM) are the parent's after fork, and others after exec. A
// child counts if it sleeps in a wait of the set, or is asleep and old enough to have called
// exec if it ever would.
#include "engine/sets/set_shared.h"

#include <ctype.h>
#include <dirent.h>
#include <jansson.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/living.h"
#include "engine/sets/set_line.h"

enum { YOUNG_MS = 50 };

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

// When it began, by CLOCK_MONOTONIC, within a tick; 0 = not known.
static uint64_t began_ns(pid_t pid)
{
	char *text;
	unsigned long long ticks = 0;
	if (proc_slurp(pid, "stat", &text, NULL))
		return 0;
	const char *p = strrchr(text, ')'); // PID (NAME) STATE PPID ... the 22nd
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (p)
		ticks = strtoull(p, NULL, 10);
	free(text);
	uint64_t age = clock_ns(CLOCK_BOOTTIME) - ticks * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
	return ticks ? clock_ns(CLOCK_MONOTONIC) - age : 0;
}

struct sharer {
	pid_t pid;
	bool asleep, waits; // a thread of it sleeps in a wait of the set
};

static void look_at(struct sharer *s, int epfd)
{
	struct proc_tasks t = {0};
	if (proc_tasks_read(s->pid, true, &t))
		return;
	s->asleep = t.n > 0;
	for (size_t i = 0; i < t.n; i++) {
		s->asleep &= t.v[i].state == 'S';
		s->waits |= inspect_in_epoll(&t.v[i]) && (int)t.v[i].args[0] == epfd;
	}
	proc_tasks_deinit(&t);
}

static size_t rows_in(const struct inspection *l, int epfd)
{
	size_t n = 0;
	for (size_t i = 0; i < l->registrations.n; i++)
		n += l->registrations.v[i].epfd == epfd;
	return n;
}

static uint32_t gen_of(const struct ctp_region *r, int fd)
{
	struct ctp_fd f;
	return inspect_fd(r, (uint64_t)(uint32_t)fd, &f) ? f.gen : 0;
}

// Process `other` has set `epfd` open as its descriptor `theirs`.
static void shares(FILE *out, const struct inspection *l, pid_t other, int epfd, int theirs)
{
	uint64_t began = began_ns(other), old = began + YOUNG_MS * 1000000ULL;
	struct sharer s = {.pid = other};
	look_at(&s, theirs);
	if (!s.waits && proc_now_ns() < old) {
		if (!l->final)
			return;
		nanosleep(&(struct timespec){.tv_nsec = YOUNG_MS * 1000000}, NULL);
		look_at(&s, theirs);
	}
	if (!s.waits && !s.asleep)
		return;
	if (syscall(SYS_kcmp, living_of(l->pid), living_of(other), KCMP_FILE, (long)epfd, (long)theirs))
		return; // given up meanwhile
	set_line(out, json_pack("{s:i, s:s, s:i, s:I, s:i, s:I, s:i, s:I, s:b}", "v", 1, "what", "shared",
				"epfd", epfd, "epgen", (json_int_t)gen_of(l->r, epfd), "pid", (int)other,
				"began_ns", (json_int_t)began, "fd", theirs, "rows",
				(json_int_t)rows_in(l, epfd), "waits", s.waits));
}

static void try_process(FILE *out, const struct inspection *l, pid_t other, const unsigned char own[16])
{
	struct registrations theirs;
	unsigned char random[16];
	if (registrations_list(other, l->deadline_ns, &theirs)) {
		registrations_deinit(&theirs);
		return;
	}
	bool ours = theirs.nsets && proc_random(other, random) && !memcmp(own, random, 16);
	for (size_t i = 0; ours && i < theirs.nsets; i++)
		for (size_t k = 0; k < l->registrations.nsets; k++)
			if (rows_in(l, l->registrations.sets[k]) &&
			    syscall(SYS_kcmp, living_of(l->pid), living_of(other), KCMP_FILE,
				    (long)l->registrations.sets[k], (long)theirs.sets[i]) == 0)
				shares(out, l, other, l->registrations.sets[k], theirs.sets[i]);
	registrations_deinit(&theirs);
}

void set_shared(FILE *out, const struct inspection *l)
{
	unsigned char own[16];
	DIR *d = l->registrations.nsets && proc_random(l->pid, own) ? opendir("/proc") : NULL;
	if (!d)
		return;
	for (struct dirent *e; (e = readdir(d)) && !signals_late(l->deadline_ns);) {
		pid_t other = isdigit((unsigned char)e->d_name[0]) ? atoi(e->d_name) : 0;
		if (other && other != l->pid)
			try_process(out, l, other, own);
	}
	closedir(d);
}
