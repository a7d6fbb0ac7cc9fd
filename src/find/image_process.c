// SPDX-License-Identifier: MIT
//
// Of a live process nothing is stopped: a thread that sleeps in a system call has its stack pointer
// in /proc/PID/task/TID/syscall, one that runs has none.
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/living.h"
#include "find/image_own.h"

enum { AT_ONCE = 512 };

static bool task_file(pid_t pid, int tid, const char *name, char *to, size_t bytes)
{
	char path[80];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, tid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, to, bytes - 1) : -1;
	if (fd >= 0)
		close(fd);
	to[n > 0 ? n : 0] = 0;
	return n > 0;
}

static void read_thread(const struct image *im, int tid, struct image_thread *t)
{
	char text[256];
	unsigned long long a[6], sp, pc;
	long long nr;
	*t = (struct image_thread){.tid = tid, .nr = -1};
	if (!task_file(im->pid, tid, "syscall", text, sizeof(text)))
		return;
	t->on_cpu = !strncmp(text, "running", 7);
	if (sscanf(text, "%lld %llx %llx %llx %llx %llx %llx %llx %llx", &nr, a, a + 1, a + 2, a + 3, a + 4,
		   a + 5, &sp, &pc) == 9) {
		t->nr = (long)nr;
		for (int i = 0; i < 6; i++)
			t->args[i] = a[i];
	} else if (sscanf(text, "%lld %llx %llx", &nr, &sp, &pc) != 3 || nr != -1) {
		return;
	}
	t->placed = sp != 0;
	t->regs[CTP_REG_SP] = sp;
	t->regs[CTP_REG_PC] = pc;
}

// Most threads that are on a CPU sleep again soon. Of one that does not, nothing is known.
static void await_sleep(struct image *im)
{
	enum { TRIES = 10, THREADS_MOST = 64, WAIT_NS = 300000 };
	size_t n = 1;
	for (int i = 0; n && i < TRIES; i++) {
		n = 0;
		for (size_t k = 0; k < im->nthreads; k++)
			n += im->threads[k].on_cpu;
		if (!n || n > THREADS_MOST)
			return;
		nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
		for (size_t k = 0; k < im->nthreads; k++)
			if (im->threads[k].on_cpu)
				read_thread(im, im->threads[k].tid, &im->threads[k]);
	}
}

int image_read_threads(struct image *im)
{
	char path[40];
	int e = 0;
	if (im->core.file_bytes)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)im->pid);
	DIR *d = opendir(path);
	if (!d)
		return -errno;
	im->nthreads = 0;
	// One that has ended is shown only if it was the first.
	int ended = living_of(im->pid) != im->pid ? (int)im->pid : 0;
	for (struct dirent *x; !e && (x = readdir(d));) {
		if (!isdigit((unsigned char)*x->d_name) || atoi(x->d_name) == ended)
			continue;
		e = GROW(im->threads, im->nthreads, im->threads_capacity);
		if (!e)
			read_thread(im, atoi(x->d_name), &im->threads[im->nthreads++]);
	}
	closedir(d);
	await_sleep(im);
	return e;
}

static int may_read(const struct image *im)
{
	char c;
	for (size_t i = 0; i < im->nmaps; i++) {
		if (im->maps[i].perms[0] != 'r' || im->maps[i].path[0] != '/')
			continue;
		struct iovec l = {&c, 1}, r = {(void *)(uintptr_t)im->maps[i].lo, 1};
		return living_read(im->pid, &l, 1, &r, 1) == 1 ? 0 : -errno;
	}
	return im->nmaps ? 0 : -ESRCH;
}

static int begin_process(struct image *im, pid_t pid)
{
	uint64_t auxv[128];
	char path[40];
	int e = maps_each(pid, image_add_map, im);
	image_set_maps(im);
	if (!e)
		e = may_read(im);
	if (!e)
		e = image_read_threads(im);
	if (e)
		return e == -ENOENT ? -ESRCH : e;
	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)living_of(pid));
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, auxv, sizeof(auxv)) : 0;
	if (fd >= 0)
		close(fd);
	image_use_auxv(im, auxv, n > 0 ? (size_t)n / sizeof(*auxv) : 0);
	return 0;
}

int image_of_process(struct image *im, pid_t pid, uint64_t deadline_ns)
{
	*im = (struct image){.pid = pid, .core = {.fd = -1}};
	memory_of_process(&im->memory, pid);
	im->memory.deadline_ns = deadline_ns;
	int e = begin_process(im, pid);
	if (e)
		image_close(im);
	return e;
}

// One call for up to AT_ONCE pieces. It ends at the first that cannot be read: how many were tried.
size_t image_read_some(const struct image *im, const uint64_t *addrs, size_t n, size_t bytes, char *to,
		       bool *got)
{
	struct iovec l[AT_ONCE], r[AT_ONCE];
	n = n < AT_ONCE ? n : AT_ONCE;
	for (size_t i = 0; i < n; i++) {
		l[i] = (struct iovec){to + i * bytes, bytes};
		r[i] = (struct iovec){(void *)(uintptr_t)addrs[i], bytes};
	}
	ssize_t all = living_read(im->pid, l, n, r, n);
	size_t whole = all > 0 ? (size_t)all / bytes : 0;
	for (size_t i = 0; i < n && i <= whole; i++)
		got[i] = i < whole;
	return whole < n ? whole + 1 : n;
}
