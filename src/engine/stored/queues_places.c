// SPDX-License-Identifier: MIT
//
// Numbers that the kernel keeps and gives back: limits, times, intervals, ranges of locks, semaphores. A
// program sets them for what they are, but two of them have room for a pointer. What has a descriptor of a
// kind that shows nothing, such as a BPF map, is a doubt, and so is a helper that can send back what it was
// sent.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/living.h"
#include "ctp/rules.h"
#include "engine/stored/queues.h"

enum { ADDRESS = 47, PAIR_LEAST = 8, PAIR_MOST = 40, TELLING = 64, MICRO = 1000000, NANO = 1000000000 };
enum { MASK_FEW = 10, MASK_MANY = 48 };
enum { SEMAPHORES_MOST = 64, SEMAPHORE_MANY = 256, LOCK_FAR_BITS = 31 };

// Two numbers, each of which may be a part of one.
static void pair(const struct queues *q, const char *where, uint64_t high, uint64_t low)
{
	if (!high || (!low && high >> __builtin_ctzll(high) < TELLING))
		return;
	for (unsigned bits = PAIR_LEAST; bits <= PAIR_MOST && high >> (ADDRESS - bits) == 0; bits++)
		if (low >> bits == 0)
			q->number(q->ctx, where, high << bits | low);
	if (high >> (ADDRESS - 19) == 0)
		q->number(q->ctx, where, high * MICRO + low);
	if (high >> (ADDRESS - 29) == 0)
		q->number(q->ctx, where, high * NANO + low);
}

static void both(const struct queues *q, const char *where, uint64_t a, uint64_t b)
{
	q->number(q->ctx, where, a);
	q->number(q->ctx, where, b);
	pair(q, where, a, b);
	pair(q, where, b, a);
}

// ------------------------------------------------------------------- of a descriptor

// The range of a lock of records, by the line of fdinfo: "1: POSIX ADVISORY WRITE PID DEVICE FIRST LAST".
static bool locks(struct queues *q, const char *text, int number)
{
	char where[48];
	snprintf(where, sizeof(where), "the range of a lock of fd %d", number);
	for (const char *at = text; (at = strstr(at, "\nlock:")); at++) {
		unsigned long long first, last = 0;
		int n = sscanf(at, "\nlock: %*s %*s %*s %*s %*s %*s %llu %llu", &first, &last);
		if (n < 1)
			continue;
		both(q, where, first, n == 2 ? last - first + 1 : 0);
		if (first >> LOCK_FAR_BITS || (n == 2 && last >> LOCK_FAR_BITS)) {
			snprintf(
				q->why, sizeof(q->why),
				"fd %d has a lock of records so far out that it may stand for something else",
				number);
			return false;
		}
	}
	return true;
}

bool queues_file(struct queues *q, int number, const struct stat *st, const char *info)
{
	char where[48];
	snprintf(where, sizeof(where), "the size of fd %d", number);
	q->number(q->ctx, where, (uint64_t)st->st_size);
	queues_times(q, number, st);
	return locks(q, info, number);
}

void queues_times(const struct queues *q, int number, const struct stat *st)
{
	char where[48];
	if (number < 0)
		snprintf(where, sizeof(where), "a time of a file that it made");
	else
		snprintf(where, sizeof(where), "a time of fd %d", number);
	both(q, where, (uint64_t)st->st_mtim.tv_sec, (uint64_t)st->st_mtim.tv_nsec);
	both(q, where, (uint64_t)st->st_atim.tv_sec, (uint64_t)st->st_atim.tv_nsec);
}

static void timer(const struct queues *q, const char *info, int number)
{
	char where[48];
	unsigned long long s, ns;
	const char *at = strstr(info, "it_interval: (");
	snprintf(where, sizeof(where), "the interval of timerfd %d", number);
	if (at && sscanf(at, "it_interval: (%llu, %llu)", &s, &ns) == 2)
		both(q, where, s, ns);
}

// A set of signals has a few, or nearly all.
static bool is_few(uint64_t mask)
{
	int n = __builtin_popcountll(mask);
	return n <= MASK_FEW || n >= MASK_MANY;
}

bool queues_kind(struct queues *q, const char *link, int number)
{
	static const char *const shown[] = {"[eventpoll]",   "[eventfd]",   "[timerfd]",  "[signalfd]",
					    "inotify",       "[fanotify]",  "[io_uring]", "[pidfd]",
					    "[userfaultfd]", "[perf_event]"};
	static const char anon[] = "anon_inode:";
	char name[40], *text;
	bool known = strncmp(link, anon, sizeof(anon) - 1) != 0;
	for (size_t i = 0; !known && i < sizeof(shown) / sizeof(*shown); i++)
		known = !strcmp(link + sizeof(anon) - 1, shown[i]);
	if (!known) {
		snprintf(q->why, sizeof(q->why), "what it may have stored in fd %d (%.60s) cannot be seen",
			 number, link);
		return false;
	}
	snprintf(name, sizeof(name), "fdinfo/%d", number);
	bool is_timer = !strcmp(link, "anon_inode:[timerfd]"),
	     is_mask = !strcmp(link, "anon_inode:[signalfd]");
	if ((!is_timer && !is_mask) || proc_slurp(q->l->pid, name, &text, NULL))
		return true; // closed meanwhile
	if (is_timer)
		timer(q, text, number);
	bool few = !is_mask || is_few(proc_field(text, "sigmask:", 16));
	free(text);
	if (!few)
		snprintf(q->why, sizeof(q->why), "the signals of signalfd %d may stand for something else",
			 number);
	return few;
}

// A terminal keeps how large a program has said that its window is: four numbers of 16 bits.
static void window(const struct queues *q, int number)
{
	int process = living_pidfd(q->l->pid), fd;
	uint64_t size = 0;
	if (process < 0)
		return;
	fd = (int)syscall(SYS_pidfd_getfd, process, number, 0);
	if (fd >= 0 && isatty(fd) && !ioctl(fd, TIOCGWINSZ, &size))
		q->number(q->ctx, "the window size of a terminal", size);
	if (fd >= 0)
		close(fd);
	close(process);
}

bool queues_device(struct queues *q, int number, const struct stat *st)
{
	enum { MEMORY = 1, LOG = 11, TTY = 4, TTYS = 5, PTS = 136, PTS_LAST = 143 };
	unsigned of = major(st->st_rdev);
	if (of >= PTS && of <= PTS_LAST)
		window(q, number);
	if ((of == MEMORY && minor(st->st_rdev) != LOG) || of == TTY || of == TTYS ||
	    (of >= PTS && of <= PTS_LAST))
		return true;
	snprintf(q->why, sizeof(q->why), "what it may have stored in device fd %d cannot be seen", number);
	return false;
}

// ------------------------------------------------------------------- of the process

static void limits(const struct queues *q)
{
	char *text;
	if (proc_slurp(q->l->pid, "limits", &text, NULL))
		return;
	for (char *at = text; *at; at++)
		if (isdigit((unsigned char)*at)) {
			q->number(q->ctx, "a resource limit", strtoull(at, &at, 10));
			if (!*at)
				break;
		}
	free(text);
}

static void slacks(const struct queues *q)
{
	for (size_t i = 0; i < q->l->tasks.n; i++) {
		char *text;
		if (proc_slurp(q->l->tasks.v[i].tid, "timerslack_ns", &text, NULL))
			continue;
		q->number(q->ctx, "the timer slack of a thread", strtoull(text, NULL, 10));
		free(text);
	}
}

// Numbers of so many bits each.
static void together(const struct queues *q, const unsigned short *v, size_t n, unsigned bits)
{
	uint64_t up = 0, down = 0;
	size_t most = ADDRESS / bits + 1;
	for (size_t i = 0; i < n && i < most; i++) {
		up |= (uint64_t)v[i] << bits * i;
		down = down << bits | v[i];
	}
	q->number(q->ctx, "the values of a System V semaphore", up);
	q->number(q->ctx, "the values of a System V semaphore", down);
}

// Has the process set or changed one of them last?
static bool is_ours(pid_t pid, int id, size_t n)
{
	bool is = false;
	for (size_t i = 0; i < n && !is; i++)
		is = semctl(id, (int)i, GETPID) == pid;
	return is;
}

// Semaphores count a few; two that count many may stand for something else.
static bool semaphore(struct queues *q, int id, size_t n)
{
	unsigned short v[SEMAPHORES_MOST];
	unsigned many = 0;
	if (n > SEMAPHORES_MOST || !is_ours(q->l->pid, id, n) || semctl(id, 0, GETALL, v))
		return true; // nor may the program look there, which has the same rights
	for (unsigned bits = 8; bits <= 16; bits++)
		together(q, v, n, bits);
	for (size_t i = 0; i < n; i++)
		many += v[i] >= SEMAPHORE_MANY;
	if (many < 2)
		return true;
	snprintf(q->why, sizeof(q->why), "the values of System V semaphore %d may stand for something else",
		 id);
	return false;
}

bool queues_semaphores(struct queues *q)
{
	char *text, *save = NULL;
	if (proc_slurp(q->l->pid, "../sysvipc/sem", &text, NULL))
		return true; // no such thing here
	bool ok = true;
	for (char *line = strtok_r(text, "\n", &save); ok && line; line = strtok_r(NULL, "\n", &save)) {
		int id;
		size_t n;
		if (sscanf(line, "%*d %d %*o %zu", &id, &n) == 2)
			ok = semaphore(q, id, n);
	}
	free(text);
	return ok;
}

// A pipe that the program made, and of which it has one end only: another process has the other.
static bool lent(struct queues *q, const struct queues_pipe *p)
{
	struct ctp_fd f;
	return p->ends != (QUEUES_READS | QUEUES_WRITES) && q->l->r &&
	       inspect_fd(q->l->r, (uint64_t)p->fd, &f) && f.opened_how == CTP_CALL_PIPE;
}

static bool helpers(struct queues *q)
{
	const struct queues_pipe *ways[2] = {NULL, NULL};
	for (size_t i = 0; i < q->npipes; i++)
		if (lent(q, &q->pipes[i]))
			ways[q->pipes[i].ends == QUEUES_READS] = &q->pipes[i];
	if (!ways[0] || !ways[1])
		return true;
	snprintf(q->why, sizeof(q->why), "who reads from pipe fd %d may send back a pointer by pipe fd %d",
		 ways[0]->fd, ways[1]->fd);
	return false;
}

bool queues_process(struct queues *q)
{
	limits(q);
	slacks(q);
	return helpers(q);
}
