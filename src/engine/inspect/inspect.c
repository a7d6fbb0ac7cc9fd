// SPDX-License-Identifier: MIT
//
// An inspection copies what /proc and the region say at one moment, so that all judges
// work on the same data. Threads of the region's table are matched with those of /proc
// by thread id.
#include "engine/inspect/inspect.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "ctp/seq.h"
#include "ctp/there.h"
#include "engine/target/thread_names.h"

enum { ROWS_LIVE = 10000, ROWS_PER_MS = 400, OPEN_MOST = 4096 };

bool inspect_fd(const struct ctp_region *r, uint64_t fd, struct ctp_fd *out)
{
	if (fd >= r->fds_max || !ctp_there(r, &r->fds[fd]))
		return false;
	const struct ctp_fd *f = &r->fds[fd];
	for (int tries = 0; tries < 1000; tries++) {
		uint32_t seq = ctp_seq_read_begin(&f->seq);
		if (seq & 1)
			continue;
		ctp_copy(out, f, sizeof(*out));
		if (!ctp_seq_read_retry(&f->seq, seq))
			return out->gen != 0;
	}
	return false;
}

bool inspect_epoll_call(int64_t nr)
{
#ifdef SYS_epoll_wait
	if (nr == SYS_epoll_wait)
		return true;
#endif
	return nr == SYS_epoll_pwait || nr == SYS_epoll_pwait2;
}

bool inspect_in_epoll(const struct proc_task *t)
{
	return inspect_epoll_call(t->nr) && t->state == 'S' && !t->tracer &&
	       (!strcmp(t->wchan, "do_epoll_wait") || !strcmp(t->wchan, "ep_poll"));
}

bool inspect_in_set(const struct proc_task *t)
{
	return polled_call(t->nr) != POLLED_NONE && t->state == 'S' && !t->tracer &&
	       (!strncmp(t->wchan, "poll_schedule_timeout", 21) || !strncmp(t->wchan, "do_poll", 7) ||
		!strncmp(t->wchan, "do_sys_poll", 11) || !strncmp(t->wchan, "do_select", 9) ||
		!strncmp(t->wchan, "core_sys_select", 15));
}

// Thread entries change without a lock; those of a sleeping thread do not. Of one that changed during each of
// the copies nothing is known but that it is there and may hold anything: it has seen no epoch, slept at no
// time, is in no wait. (A base register and an alternate stack are one word each.)
void inspect_thread(struct inspection *l, uint32_t slot)
{
	const struct ctp_thread *t = &l->r->threads[slot];
	struct ctp_thread *c = &l->threads[slot];
	uint32_t life = ctp_load32(&t->life);
	if (!ctp_thread_read(t, c))
		*c = (struct ctp_thread){.tid = c->tid,
					 .uses = c->uses,
					 .wait_fd = -1,
					 .polls = 1,
					 .switches = 1,
					 .turns = c->turns,
					 .alt_stack = c->alt_stack,
					 .base = c->base};
	c->life = life;
}

static int copy_threads(struct inspection *l)
{
	uint32_t n = ctp_load32(&l->r->ext->thread_high);
	n = n > l->r->threads_max ? l->r->threads_max : n;
	l->threads = calloc(n + 1, sizeof(*l->threads));
	if (!l->threads)
		return -ENOMEM;
	l->nthreads = n;
	l->turns = 0;
	for (uint32_t i = 0; i < n; i++) {
		inspect_thread(l, i);
		l->turns += l->threads[i].turns;
		for (size_t k = 0; l->threads[i].life == CTP_THREAD_LIVE && k < l->tasks.n; k++)
			if (l->tasks.v[k].tid == (int)l->threads[i].tid)
				l->tasks.v[k].slot = (int)i;
	}
	return 0;
}

// Is the system call the one that the entry tells of?
static bool same_call(const struct ctp_thread *c, const struct proc_task *t)
{
	switch (c->wait_call) {
	case CTP_IN_EPOLL:
		return (int)t->args[0] == c->wait_fd && inspect_in_epoll(t);
	case CTP_IN_IO:
		return (int)t->args[0] == c->wait_fd;
	case CTP_IN_POLL:
		return t->args[0] == c->wait_buf && inspect_in_set(t) && polled_call(t->nr) == POLLED_POLL;
	case CTP_IN_SELECT:
		return (int)t->args[0] == c->wait_fd && t->args[1] == c->wait_buf && inspect_in_set(t) &&
		       polled_call(t->nr) == POLLED_SELECT;
	}
	return false;
}

// Asleep in one of our hooks: then the caller's registers lie in its entry.
void inspect_mark_hooked(struct inspection *l)
{
	for (size_t k = 0; k < l->tasks.n; k++) {
		struct proc_task *t = &l->tasks.v[k];
		if (t->slot < 0 || t->state != 'S' || t->nr < 0)
			continue;
		const struct ctp_thread *c = &l->threads[t->slot];
		if (inspect_in_hook(c, t) && same_call(c, t))
			t->hooked = true;
	}
}

static int read_sets(struct inspection *l)
{
	l->polled = calloc(l->tasks.n + 1, sizeof(*l->polled));
	if (!l->polled)
		return -ENOMEM;
	for (size_t k = 0; k < l->tasks.n; k++) {
		const struct proc_task *t = &l->tasks.v[k];
		polled_read(l->pid, t, t->hooked ? &l->threads[t->slot] : NULL, &l->polled[k]);
	}
	return 0;
}

// The kernel makes all rows of a set at once, so a huge set is left alone while the program
// lives, and at its end if there is no time for it.
static bool registrations_allowed(const struct inspection *l)
{
	uint64_t now = proc_now_ns(), left_ms = l->deadline_ns > now ? (l->deadline_ns - now) / 1000000 : 0;
	uint64_t n = 0;
	struct ctp_walk w = ctp_walk_fds(l->r);
	for (uint64_t i = ctp_walk_from(&w, 0); i < w.n; i = ctp_walk_from(&w, i + 1))
		n += l->r->fds[i].life == CTP_FD_OPEN && l->r->fds[i].reg_epfd >= 0;
	return n <= (l->final ? left_ms * ROWS_PER_MS : ROWS_LIVE);
}

// AIO's contexts never have a descriptor, and that of an io_uring may be closed.
static size_t completions(const struct inspection *l)
{
	size_t aio = 0, uring = 0;
	for (size_t i = 0; i < l->maps.n; i++) {
		aio += !strncmp(l->maps.v[i].path, "/[aio]", 6);
		uring += !strncmp(l->maps.v[i].path, "anon_inode:[io_uring]", 21);
	}
	return aio + (uring && !l->registrations.uring);
}

bool inspect_late(const struct inspection *l)
{
	return signals_late(l->deadline_ns) || (l->cpu_until_ns && clock_cpu_ns() > l->cpu_until_ns) ||
	       (!l->final && signals_waiting());
}

// A live search gives way to whatever comes, and is in vain once a thread runs.
static bool is_cancelled(void *inspection)
{
	const struct inspection *l = inspection;
	return inspect_late(l) || (!l->final && signals_noted()) ||
	       (l->moves && l->moves != ctp_region_moves(l->r));
}

// The mappings as they are now.
static void set_memory(struct inspection *l)
{
	l->memory.maps = l->maps.v;
	l->memory.nmaps = l->maps.n;
}

static void open_memory(struct inspection *l)
{
	memory_of_process(&l->memory, l->pid);
	l->memory.deadline_ns = l->deadline_ns;
	l->memory.cancelled = is_cancelled;
	l->memory.ctx = l;
	set_memory(l);
}

int inspect_begin(struct inspection *l)
{
	int r = proc_tasks_read(l->pid, true, &l->tasks);
	thread_names_note_all(l->r, l->pid);
	l->disturbed = !r && proc_tasks_stopped(&l->tasks);
	if (!r)
		r = copy_threads(l);
	if (!r) {
		inspect_mark_hooked(l);
		r = read_sets(l);
	}
	if (!r)
		r = proc_maps_read(l->pid, &l->maps);
	if (!r)
		open_memory(l);
	l->registrations.too_many = !r && !registrations_allowed(l);
	if (!r && !l->registrations.too_many) {
		int e = registrations_read(l->pid, l->final ? 0 : ROWS_LIVE, l->deadline_ns,
					   &l->registrations);
		if (e) {
			l->registrations.denied = true;
			l->registrations.complete = false;
		}
	}
	l->registrations.uring += completions(l);
	if (r)
		inspect_deinit(l);
	return r;
}

int inspect_again(struct inspection *l)
{
	struct proc_maps maps;
	struct registrations rows = {.complete = false};
	int r = proc_maps_read(l->pid, &maps);
	if (r)
		return r;
	proc_maps_deinit(&l->maps);
	l->maps = maps;
	set_memory(l);
	rows.too_many = !registrations_allowed(l);
	r = rows.too_many ? 0 : registrations_read(l->pid, 0, l->deadline_ns, &rows);
	if (r)
		return r;
	registrations_deinit(&l->registrations);
	l->registrations = rows;
	l->registrations.uring += completions(l);
	for (uint32_t i = 0; i < l->nthreads; i++)
		inspect_thread(l, i);
	return 0;
}

void inspect_deinit(struct inspection *l)
{
	for (size_t k = 0; l->polled && k < l->tasks.n; k++)
		free(l->polled[k].v);
	free(l->polled);
	l->polled = NULL;
	proc_tasks_deinit(&l->tasks);
	proc_maps_deinit(&l->maps);
	memory_close(&l->memory);
	registrations_deinit(&l->registrations);
	free(l->threads);
	free(l->open);
	l->threads = NULL;
	l->open = NULL;
	l->nopen = 0;
}

bool inspect_references(const struct suspect *s, uint64_t word)
{
	word &= (1ULL << 48) - 1;
	for (unsigned i = 0; i < s->nmine; i++)
		if (word >= s->mine[i].lo && word < s->mine[i].hi)
			return true;
	return false;
}

void inspect_say(struct inspect_answer *a, enum holds holds, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	a->holds = holds;
	vsnprintf(a->text, sizeof(a->text), format, ap);
	va_end(ap);
}

void inspect_say_all(struct inspection *l, enum proof item, enum holds holds, const char *text)
{
	for (size_t i = 0; i < l->n; i++)
		inspect_say(&l->who[i]->a[item], holds, "%s", text);
}

void inspect_open(struct inspection *l, uint64_t id, const char *format, ...)
{
	char text[INSPECT_TEXT];
	va_list ap;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	size_t of_this = 0;
	if (l->nopen >= OPEN_MOST)
		return; // never without bound
	for (size_t i = 0; i < l->nopen; i++) {
		of_this += l->open[i].id == id;
		if (l->open[i].id == id && !strcmp(l->open[i].text, text))
			return;
	}
	struct inspect_open *more =
		of_this < INSPECT_OPEN_MAX ? realloc(l->open, (l->nopen + 1) * sizeof(*more)) : NULL;
	if (!more)
		return;
	l->open = more;
	l->open[l->nopen].id = id;
	memcpy(l->open[l->nopen++].text, text, sizeof(text));
}
