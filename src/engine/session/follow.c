// SPDX-License-Identifier: MIT
//
// A process that needs another region requests it through the first one, whose path all
// processes know (spec/cTP.md, "Attaching"): a process after exec and, with --follow-forks,
// a child that found no spare one (spares.h). A child is traced from the answer, or from when
// ctp-run sees that it took one, to its end, which a pidfd shows (reap.c).
#include "engine/session/follow.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ctp/seq.h"
#include "engine/target/log.h"

#define IMAGES_MOST 4096
#define TABLES_MOST (8ULL << 30)
#define ANSWER_NS 1000000000 // an answer that nobody has taken by then is taken back

static struct process *find(const struct session *s, pid_t pid)
{
	for (size_t i = 0; i < s->n_processes; i++)
		if (s->processes[i]->pid == pid && !s->processes[i]->ended)
			return s->processes[i];
	return NULL;
}

// What all images together may take: a program that means harm calls exec for ever, and each image leaves
// tables behind. Shells that call exec hundreds of times stay far below.
static bool too_many(struct session *s)
{
	if (++s->images <= IMAGES_MOST && s->recorder.table_bytes <= TABLES_MOST)
		return false;
	if (!s->spent)
		log_line(
			LOG_FAIL,
			"the program called exec %u times, and its tables take %llu MB: from here on its images run untraced",
			s->images, (unsigned long long)(s->recorder.table_bytes >> 20));
	return s->spent = true;
}

// The process became another program. Ids go on where they were, so that they stay unique.
static int next_image(struct session *s, struct process *p)
{
	struct shm fresh;
	if (!descent_new_image(p->pid, &p->image) || too_many(s))
		return -EPERM;
	int r = session_fresh_region(s, &fresh, ctp_load64(&p->region->ext->next_id));
	if (r < 0) {
		log_line(LOG_FAIL, "no region for the program after exec (%s): it runs on untraced",
			 strerror(-r));
		return r;
	}
	fresh.region.ext->sent_fds = ctp_load64(&p->region->ext->sent_fds);
	recorder_note_error(&s->recorder, process_next(p, &fresh));
	s->regions++;
	descent_note(&s->descent, p->pid, p->descent == DESCENT_PROVEN, &p->image);
	process_note_exe(p, NULL);
	if (p->index == 0 && !s->recorder.output.jsonl)
		manifest_write(&s->recorder.manifest, s->recorder.output.fd);
	log_line(LOG_MORE, "process %u, image %u: %s", p->index, p->execs, p->about.exe);
	return p->own.fd;
}

static int refuse(struct session *s, pid_t pid, int r)
{
	log_line(LOG_MORE, "process %d is not traced: %s", (int)pid, strerror(-r));
	session_drop(s, s->processes[s->n_processes - 1]);
	return r;
}

// The last process, whose region is p->own, is traced from here on. 0 or -errno: then it is forgotten.
static int begin(struct session *s, struct process *p, pid_t pid)
{
	if (!p->gone && p->descent != DESCENT_PROVEN)
		log_line(
			LOG_MORE,
			"process %d is traced, but nothing proves that it is the program's: no signal goes to it",
			(int)pid);
	int r = process_init(p, s->begun, pid, NULL);
	if (r < 0)
		return refuse(s, pid, r);
	s->begun++;
	s->backlog++;
	descent_note(&s->descent, p->pid, p->descent == DESCENT_PROVEN, &p->image);
	process_note_exe(p, NULL);
	return 0;
}

static void report_begun(const struct process *p)
{
	log_line(LOG_MORE, "process %u is %d, child of %d: %s", p->index, (int)p->pid, (int)p->parent,
		 p->about.exe);
}

// A child, seen for the first time. Returns its region's descriptor, or -errno.
static int begin_child(struct session *s, pid_t pid)
{
	uint64_t used;
	struct process *p = session_process(s);
	if (!p)
		return -ENOMEM;
	p->descent = descent_of(&s->descent, pid, -1, &p->pidfd);
	int r = p->descent ? 0 : -errno;
	if (!r)
		r = (p->ids = ids_take(&s->ids, &used)) < 0 ? -EAGAIN : 0;
	if (!r)
		r = session_fresh_region(s, &p->own, used);
	r = r < 0 ? refuse(s, pid, r) : begin(s, p, pid);
	if (r < 0)
		return r;
	report_begun(p);
	return p->own.fd;
}

// As the kernel says; of a child that has ended, as its region says.
static struct process *parent_of(const struct session *s, struct process *p)
{
	struct process *parent = find(s, p->parent);
	if (!parent && (parent = find(s, (pid_t)p->region->ext->forker)) && p->gone)
		p->about.parent = p->parent = parent->pid;
	return parent;
}

// The region is of the image that forked. The child may have called exec since, and has yet to request
// another one.
static void note_image(struct process *p, const struct process *parent)
{
	p->image = parent ? parent->image : (struct descent_image){0};
	if (parent && (p->gone || descent_new_image(p->pid, &p->image)))
		memcpy(p->about.exe, parent->about.exe, sizeof(p->about.exe));
}

// Follows a child that has taken this spare region, and owns it from here on. If it is none of ours, the
// region is released.
static void begin_spare(struct session *s, pid_t pid, const struct spare *taken)
{
	const struct process *known = find(s, pid);
	struct process *p = known && !process_gone(known) ? NULL : session_process(s);
	struct shm own = taken->shm;
	if (!p) {
		ids_give(&s->ids, taken->ids, taken->used);
		shm_unmap(&own);
		close(own.fd);
		return;
	}
	p->own = own;
	p->ids = taken->ids;
	p->region = &p->own.region;
	p->descent = descent_of(&s->descent, pid, own.fd, &p->pidfd);
	p->gone = !p->descent && errno == ESRCH;
	if (!p->descent && !p->gone) {
		refuse(s, pid, -errno);
		return;
	}
	if (begin(s, p, pid) < 0)
		return;
	p->first_id = taken->used; // it may have made coroutines since
	struct process *parent = parent_of(s, p);
	note_image(p, parent);
	p->control = parent ? witness_control(parent->witness) : 0;
	report_begun(p);
}

static void follow_spares(struct session *s)
{
	for (unsigned i = 0; s->options->follow && i < CTP_SPARES; i++) {
		pid_t pid = spares_taken(&s->spares[i], &s->first.region.ext->spare[i]);
		if (pid)
			begin_spare(s, pid, &s->spares[i]);
	}
	session_offer_spares(s);
}

// An image that stands before its main waits for the answer anyway: its mappings are read now, so that it
// need not wait at its end as well. Only of the first process is all that there is to learn learnt at its
// end.
static void look_ahead(struct session *s, struct process *p)
{
	uprobes_process(s->uprobes, p->pid);
	if (s->options->no_preload || !p->index)
		return;
	module_scan_turn(&s->recorder.modules, &p->watch, p->pid, p->region, clock_mono_ns());
	ctp_store32(&p->region->ext->final_done, CTP_FINAL_DONE);
}

static bool put_ask(struct session *s, uint64_t from, uint64_t to)
{
	uint64_t *ask = &s->first.region.ext->ask;
	if (!ctp_cas64(ask, from, to))
		return false;
	for (int half = 0; half < 2;
	     half++) // those who wait for an answer, and those who wait for their turn
		syscall(SYS_futex, (uint32_t *)ask + half, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	return true;
}

// Nobody came for the answer: a child that began with it is none of ours.
static void take_back(struct session *s, uint64_t ask)
{
	if (!put_ask(s, ask, 0))
		return;
	for (size_t i = s->n_processes; i-- > 1;) {
		const struct process *p = s->processes[i];
		if (p->pid == (pid_t)(uint32_t)ask && !p->ended && !p->execs &&
		    !ctp_load32(&p->region->ext->guest_pid))
			session_drop(s, s->processes[i]);
	}
}

void follow_answer(struct session *s)
{
	follow_spares(s); // first: a child that took one may have called exec, and request another
	struct ctp_ext *e = s->first.region.ext;
	uint64_t ask = ctp_load64(&e->ask);
	pid_t pid = (pid_t)(uint32_t)ask;
	ctp_store64(&e->heartbeat, e->heartbeat + 1); // who asks waits while it beats
	if (!ask)
		return;
	if (ask >> 32) {
		if (clock_mono_ns() - s->asked_ns > ANSWER_NS)
			take_back(s, ask);
		return;
	}
	struct process *p = find(s, pid);
	if (p && p->index && process_gone(p))
		return; // its end comes first
	if (!p && s->backlog && session_full(s))
		return; // until those that have ended are written
	int fd = p ? next_image(s, p) : s->options->follow ? begin_child(s, pid) : -EPERM;
	if (fd >= 0 && (p = find(s, pid)))
		look_ahead(s, p);
	s->asked_ns = clock_mono_ns();
	put_ask(s, ask, fd == -ESRCH ? 0 : CTP_ASK(pid, fd < 0 ? CTP_ASK_REFUSED : (uint32_t)fd + 1));
}

void follow_gone(struct session *s, pid_t pid)
{
	uint64_t ask = ctp_load64(&s->first.region.ext->ask);
	if (ask && (pid_t)(uint32_t)ask == pid)
		put_ask(s, ask, 0);
}
