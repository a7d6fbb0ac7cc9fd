// SPDX-License-Identifier: MIT
//
// A session begins with a region, and continues with a trace once the pid is known. The first
// process stays in it to the end, as its first region does: version-1 probes write there, and
// a process that needs a region of its own requests it there (follow.c).
#include "engine/session/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "ctp/seq.h"
#include "engine/target/pidfd.h"
#include "engine/target/log.h"

enum {
	RANDOM_TRIES = 50,
	RANDOM_STEP_NS = 100000,
	BACKLOG_MOST = 256,   // the region of each, and more, is in memory
	DESCRIPTORS_EACH = 8, // of one process, about
	DESCRIPTORS_OWN = 32, // besides
};
#define ORPHAN_NS 1000000000 // how long a child that has outlived everybody may take to ask

static const uint32_t clock_option[] =
	{[OPTIONS_ADAPTIVE] = CTP_OPT_ADAPTIVE, [OPTIONS_EXACT] = 0, [OPTIONS_SPARSE] = CTP_OPT_SPARSE};

void session_describe(const struct session *s, struct shm *shm, uint32_t more_options)
{
	struct ctp_ext *e = shm->region.ext;
	e->clock_kind = s->recorder.clock.tsc ? CTP_CLOCK_TSC : CTP_CLOCK_MONOTONIC;
	e->clock_ticks0 = s->recorder.clock.ticks0;
	e->clock_ns0 = s->recorder.clock.ns0;
	e->options = (s->options->block ? CTP_OPT_BLOCK : 0) | (s->options->follow ? CTP_OPT_FOLLOW : 0) |
		     (s->options->no_patch ? CTP_OPT_NO_PATCH : 0) | clock_option[s->options->clock] |
		     (shm->region.chunks ? CTP_OPT_FLIGHT : 0) | more_options;
	identity_describe(&s->recorder.identity, e);
	e->paused = s->pauses.from_ns && !s->pauses.to_ns;
	event_list_describe(s->events, &shm->region);
	ctp_store32(&e->engine_pid, (uint32_t)getpid());
}

static void empty(struct session *s, const struct options *o)
{
	*s = (struct session){.options = o,
			      .events = &o->events,
			      .first.fd = -1,
			      .recorder = {.max_bytes = o->max_bytes,
					   .flight_ns = (uint64_t)(o->flight_s * 1e9),
					   .compress = o->compress,
					   .record_args = o->record_args,
					   .output = OUTPUT_NONE}};
}

int session_region(struct session *s, const struct options *o, bool libasan)
{
	empty(s, o);
	clock_init(&s->recorder.clock);
	if (o->no_preload) // who writes there may be compiled for another CPU, under an emulator: it has no
			   // TSC
		clock_adopt(&s->recorder.clock, false, s->recorder.clock.ns0, s->recorder.clock.ns0);
	int r = shm_init(&s->first, o->stations, o->ring_bytes, options_chunks(o), o->shm_file);
	if (r < 0)
		return r;
	identity_init(&s->recorder.identity, s->recorder.clock.real0);
	session_describe(s, &s->first, libasan ? CTP_OPT_NO_FREE : 0);
	s->first.region.ext->own_fd = (uint32_t)s->first.fd + 1;
	return 0;
}

int session_region_adopt(struct session *s, const struct options *o, int fd)
{
	empty(s, o);
	s->standalone = true;
	int r = shm_adopt(&s->first, fd);
	if (r < 0)
		return r;
	struct ctp_ext *e = s->first.region.ext;
	clock_adopt(&s->recorder.clock, e->clock_kind == CTP_CLOCK_TSC, e->clock_ticks0, e->clock_ns0);
	identity_init(&s->recorder.identity, s->recorder.clock.real0);
	identity_describe(&s->recorder.identity, e);
	e->own_fd = (uint32_t)fd + 1;
	return 0;
}

int session_fresh_region(struct session *s, struct shm *fresh, uint64_t ids)
{
	*fresh = (struct shm){.fd = -1};
	int r = shm_init(fresh, s->options->stations, s->options->ring_bytes, options_chunks(s->options),
			 NULL);
	if (r < 0)
		return r;
	session_describe(s, fresh, s->first.region.ext->options & (CTP_OPT_NO_FREE | CTP_OPT_SELF));
	fresh->region.ext->next_id = ids;
	fresh->region.ext->own_fd = (uint32_t)fresh->fd + 1;
	return 0;
}

static void offer_spare(struct session *s, struct spare *sp, uint64_t *word)
{
	if (session_full(s) || (sp->ids = ids_take(&s->ids, &sp->used)) < 0)
		return;
	if (session_fresh_region(s, &sp->shm, sp->used) < 0)
		ids_give(&s->ids, sp->ids, sp->used);
	else
		spares_offer(sp, word);
}

void session_offer_spares(struct session *s)
{
	for (unsigned i = 0; s->options->follow && i < CTP_SPARES; i++)
		if (!s->spares[i].ready)
			offer_spare(s, &s->spares[i], &s->first.region.ext->spare[i]);
}

struct process *session_process(struct session *s)
{
	if (s->n_processes == s->room) {
		size_t room = s->room ? s->room * 2 : 16;
		struct process **more = realloc(s->processes, room * sizeof(*more));
		if (!more)
			return NULL;
		s->processes = more;
		s->room = room;
	}
	struct process *p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->own.fd = p->pidfd = p->ids = -1;
	p->recorder = &s->recorder;
	p->options = s->options;
	p->events = s->events;
	p->uprobes = s->uprobes;
	s->processes[s->n_processes++] = p;
	s->regions++;
	return p;
}

void session_drop(struct session *s, struct process *p)
{
	size_t i = 0;
	while (s->processes[i] != p)
		i++;
	if (p->region)
		ids_give(&s->ids, p->ids, ctp_load64(&p->region->ext->next_id));
	process_deinit(p);
	free(p);
	s->regions++;
	s->processes[i] = s->processes[--s->n_processes];
}

bool session_full(const struct session *s)
{
	size_t n = s->n_processes;
	for (int i = 0; i < CTP_SPARES; i++)
		n += s->spares[i].ready;
	return s->backlog >= BACKLOG_MOST || n * DESCRIPTORS_EACH + DESCRIPTORS_OWN > s->descriptors_max;
}

static unsigned descriptors_most(void)
{
	struct rlimit most;
	if (getrlimit(RLIMIT_NOFILE, &most))
		return 0;
	return most.rlim_cur < UINT32_MAX ? (unsigned)most.rlim_cur : UINT32_MAX;
}

// For descent.h.
static bool knows(const void *ctx, pid_t pid)
{
	const struct session *s = ctx;
	for (size_t i = 0; i < s->n_processes; i++) {
		const struct process *p = s->processes[i];
		if (p->pid == pid && !p->ended && p->descent == DESCENT_PROVEN &&
		    !pidfd_gone(p->pid, p->pidfd))
			return true;
	}
	return false;
}

int session_open(struct session *s, const char *output, pid_t pid, char **command, const char *exe)
{
	int r = recorder_open(&s->recorder, output, pid, command);
	if (r)
		return r;
	s->clock_step_ns = 100000000;
	s->descriptors_max = descriptors_most();
	s->v1 = v1_new(&s->first.region, s->recorder.writer);
	struct process *p = s->v1 ? session_process(s) : NULL;
	r = p ? process_init(p, s->begun++, pid, &s->first.region) : -ENOMEM;
	if (p) {
		p->descent = DESCENT_PROVEN;
		p->pidfd = pidfd_of(pid);
	}
	if (s->options->follow && descent_init(&s->descent, s->first.fd, s->region_path, s->library, pid) < 0)
		log_line(LOG_MORE, "children are not traced: they could not be told from other processes");
	s->descent.knows = knows;
	s->descent.ctx = s;
	if (!(s->first.region.ext->options & CTP_OPT_SELF))
		ctp_store32(&s->first.region.ext->root_pid, (uint32_t)pid);
	if (!r)
		process_note_exe(p, exe);
	r = r ? r : recorder_publish(&s->recorder);
	if (r)
		session_undo(s);
	else
		session_offer_spares(s); // before the program runs: its first child finds them
	return r;
}

static void begin_uprobes(struct session *s)
{
	const char *why_not = s->recorder.output.jsonl ? "JSON lines hold switches alone" :
			      s->options->flight_bytes ? "not with --flight" :
							 NULL;
	s->uprobes = uprobes_new(&s->recorder, s->events, why_not);
	for (size_t i = 0; i < s->n_processes; i++) {
		struct process *p = s->processes[i];
		p->uprobes = s->uprobes;
		if (s->uprobes && p->harvest && !p->harvest->ran)
			p->harvest->ran = ran_new(&p->region);
	}
}

void session_uprobes(struct session *s, const char *path)
{
	begin_uprobes(s);
	if (path)
		uprobes_program(s->uprobes, path);
	else
		uprobes_process(s->uprobes, s->processes[0]->pid);
}

void session_uprobes_again(struct session *s)
{
	for (size_t i = 0; s->uprobes && i < s->n_processes; i++)
		if (s->processes[i]->harvest)
			process_empty(s->processes[i]);
	s->uprobes_lost += uprobes_lost(s->uprobes);
	uprobes_free(s->uprobes);
	begin_uprobes(s);
	for (size_t i = 0; i < s->n_processes; i++)
		if (!s->processes[i]->ended && s->processes[i]->harvest)
			uprobes_process(s->uprobes, s->processes[i]->pid);
}

uint64_t session_uprobes_lost(const struct session *s)
{
	return s->uprobes_lost + uprobes_lost(s->uprobes);
}

void session_undo(struct session *s)
{
	if (s->n_processes)
		process_deinit(s->processes[0]);
	output_remove(&s->recorder.output);
}

void session_started(struct session *s)
{
	struct process *p = s->processes[0];
	// Its exec has begun, and what tells the image is there before any code of it runs.
	for (int i = 0; i < RANDOM_TRIES && !p->image.known; i++) {
		descent_note(&s->descent, p->pid, p->descent == DESCENT_PROVEN, &p->image);
		if (!p->image.known)
			nanosleep(&(struct timespec){.tv_nsec = RANDOM_STEP_NS}, NULL);
	}
	if (ctp_load32(&p->region->ext->guest_pid))
		p->image.known = false; // we are late: it may be another image already, which is about to ask
	recorder_note_error(&s->recorder, process_started(p));
}

// ------------------------------------------------------------------- ends

void session_count(struct session *s, const struct process *p)
{
	process_count_forks(p, &s->forks, &s->forked);
	s->found += process_found(p);
}

unsigned session_found(const struct session *s)
{
	unsigned n = s->found;
	for (size_t i = 0; i < s->n_processes; i++)
		n += process_found(s->processes[i]);
	return n;
}

bool session_lives(struct session *s)
{
	if (s->n_processes > 1 || !s->processes[0]->ended ||
	    spares_any_taken(s->spares, s->first.region.ext->spare)) {
		s->last_ns = 0;
		return true;
	}
	if (!s->options->follow || !session_untraced(s))
		return false;
	// A forked child has not asked: has it not come to it yet, or can it not?
	uint64_t now = clock_mono_ns();
	s->last_ns = s->last_ns ? s->last_ns : now;
	return now - s->last_ns < ORPHAN_NS;
}

bool session_may_idle(const struct session *s)
{
	return !s->processes[0]->harvest->went_on && !s->uprobes && s->n_processes == 1 &&
	       !s->options->follow && !s->options->no_preload && !v1_stations(s->v1);
}

bool session_exits(const struct session *s)
{
	bool any = false;
	for (size_t i = 0; i < s->n_processes; i++)
		any |= !s->processes[i]->ended && ctp_load64(&s->processes[i]->region->ext->exit_begun);
	return any;
}

void session_forget(struct session *s)
{
	output_tidy(&s->recorder.output);
	shm_forget(&s->first.region);
	for (size_t i = 0; i < s->n_processes; i++)
		if (!s->processes[i]->ended && s->processes[i]->region != &s->first.region)
			shm_forget(s->processes[i]->region);
}

void session_sigterm_sent(struct session *s, struct process *p, uint64_t ns)
{
	p->about.term_forwarded_ns = ns;
	if (p->index == 0)
		s->recorder.manifest.term_forwarded_ns = ns;
}

uint64_t session_untraced(const struct session *s)
{
	uint64_t made = s->forks, traced = s->forked;
	for (size_t i = 0; i < s->n_processes; i++)
		process_count_forks(s->processes[i], &made, &traced);
	return made > traced ? made - traced : 0;
}

struct harvest_sums session_sum(const struct session *s)
{
	struct harvest_sums sum = s->ended;
	for (size_t i = 0; i < s->n_processes; i++) {
		struct harvest_sums one = harvest_sum(s->processes[i]->harvest);
		harvest_add(&sum, &one);
	}
	return sum;
}

bool session_stackless(const struct session *s)
{
	for (size_t i = 0; i < s->n_processes; i++)
		if (s->processes[i]->had_stackless || stackless_watch_found(s->processes[i]->stackless))
			return true;
	return false;
}

void session_deinit(struct session *s)
{
	for (size_t i = s->n_processes; i-- > 0;)
		session_drop(s, s->processes[i]);
	free(s->processes);
	uprobes_free(s->uprobes);
	spares_deinit(s->spares);
	ids_deinit(&s->ids);
	event_list_deinit(&s->chosen);
	v1_free(s->v1);
	metrics_close(s->metrics);
	recorder_deinit(&s->recorder);
	shm_unmap(&s->first);
	*s = (struct session){.recorder.output = OUTPUT_NONE};
}
