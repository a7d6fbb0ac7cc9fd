// SPDX-License-Identifier: MIT
//
// A session begins with a region, and goes on with a trace once the pid is
// known. The first process stays in it to the end, as its first region does:
// version-1 probes write there, and whoever needs a region of its own asks
// there for it (follow.c). What the trace says of all is put together here.
#include "engine/run/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ctp/seq.h"
#include "engine/target/pidfd.h"
#include "engine/record/ctf.h"
#include "engine/run/follow.h"
#include "engine/record/lines.h"
#include "engine/target/log.h"

enum { RANDOM_TRIES = 50, RANDOM_STEP_NS = 100000 };
#define ORPHAN_NS 1000000000 // how long a child that has outlived everybody may take to ask

void session_describe(const struct session *s, struct shm *shm, uint32_t more_options)
{
	struct ctp_ext *e = shm->region.ext;
	e->clock_kind = s->clock.tsc ? CTP_CLOCK_TSC : CTP_CLOCK_MONOTONIC;
	e->clock_ticks0 = s->clock.ticks0;
	e->clock_ns0 = s->clock.ns0;
	e->options = (s->options->block ? CTP_OPT_BLOCK : 0) | (s->options->follow ? CTP_OPT_FOLLOW : 0) |
		     (shm->region.chunks ? CTP_OPT_FLIGHT : 0) | more_options;
	identity_describe(&s->identity, e);
	ctp_store32(&e->engine_pid, (uint32_t)getpid());
}

int session_region(struct session *s, const struct options *o, bool libasan)
{
	*s = (struct session){ .options = o, .output = OUTPUT_NONE, .first.fd = -1 };
	clock_init(&s->clock);
	if (o->no_preload) // who writes there may be compiled for another CPU, under an emulator: it has no TSC
		clock_adopt(&s->clock, false, s->clock.ns0, s->clock.ns0);
	int r = shm_init(&s->first, o->stations, o->ring_bytes, options_chunks(o), o->shm_file);
	if (r < 0)
		return r;
	identity_init(&s->identity, s->clock.real0);
	session_describe(s, &s->first, libasan ? CTP_OPT_NO_FREE : 0);
	return 0;
}

int session_region_adopt(struct session *s, const struct options *o, int fd)
{
	*s = (struct session){ .options = o, .output = OUTPUT_NONE, .first.fd = -1 };
	int r = shm_adopt(&s->first, fd);
	if (r < 0)
		return r;
	struct ctp_ext *e = s->first.region.ext;
	clock_adopt(&s->clock, e->clock_kind == CTP_CLOCK_TSC, e->clock_ticks0, e->clock_ns0);
	identity_init(&s->identity, s->clock.real0);
	identity_describe(&s->identity, e);
	return 0;
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
	s->processes[s->n_processes++] = p;
	return p;
}

void session_drop(struct session *s, size_t i)
{
	struct process *p = s->processes[i];
	if (p->region)
		ids_give(&s->ids, p->ids, ctp_load64(&p->region->ext->next_id));
	process_deinit(p);
	free(p);
	s->processes[i] = s->processes[--s->n_processes];
}

int session_open(struct session *s, const char *output, pid_t pid, char **command, const char *exe)
{
	s->manifest = (struct manifest){ .command = command, .pid = pid, .identity = &s->identity, .clock = &s->clock, .compressed = s->options->compress,
					 .switchers = &s->switchers };
	int r = output_init(&s->output, output, pid, command && command[0] ? command[0] : "");
	if (r)
		return r;
	clock_again(&s->clock);
	s->clock_step_ns = 100000000;
	s->witness_clock = (struct witness_clock){ s->clock.tsc, s->clock.ticks0, s->clock.ns0, s->clock.ns_per_tick };
	s->writer = s->output.jsonl ? lines_new(s->output.fd, s->options->max_bytes, &s->clock)
				    : ctf_new(s->output.fd, s->options->max_bytes, s->options->compress);
	s->v1 = s->writer ? v1_new(&s->first.region, s->writer) : NULL;
	struct process *p = s->v1 ? session_process(s) : NULL;
	r = p ? process_init(p, s, s->begun++, pid, &s->first.region) : -ENOMEM;
	if (p) {
		p->descent = DESCENT_PROVEN;
		p->pidfd = alive_open(pid);
	}
	if (s->options->follow && descent_init(&s->descent, s->first.fd, s->region_path, s->library, pid) < 0)
		log_line(LOG_MORE, "children are not traced: they could not be told from other processes");
	if (!(s->first.region.ext->options & CTP_OPT_SELF))
		ctp_store32(&s->first.region.ext->root_pid, (uint32_t)pid);
	if (!r)
		process_note_exe(p, exe);
	if (!r && !s->output.jsonl)
		r = ctf_metadata(s->output.fd, &s->clock, s->options->compress);
	if (!r && !s->output.jsonl)
		r = manifest_write(&s->manifest, s->output.fd);
	if (!r)
		r = output_publish(&s->output);
	if (r)
		session_undo(s);
	return r;
}

void session_undo(struct session *s)
{
	if (s->n_processes)
		process_deinit(s->processes[0]);
	output_remove(&s->output);
}

// One line about the first write that failed; after that it is only counted.
static void tell_error(struct session *s)
{
	if (!s->writer->error || s->writer->error_told)
		return;
	s->writer->error_told = true;
	log_line(LOG_FAIL, "cannot write to %s: %s; the program goes on, records are dropped and counted",
		 s->output.path, strerror(-s->writer->error));
}

void session_note_error(struct session *s, int r)
{
	if (r < 0 && !s->writer->error)
		s->writer->error = r;
	tell_error(s);
}

void session_started(struct session *s)
{
	struct process *p = s->processes[0];
	// Its exec has begun, and what tells the image is there before any code of it runs.
	for (int i = 0; i < RANDOM_TRIES && !p->random_known; i++) {
		descent_note(&s->descent, p);
		if (!p->random_known)
			nanosleep(&(struct timespec){ .tv_nsec = RANDOM_STEP_NS }, NULL);
	}
	if (ctp_load32(&p->region->ext->guest_pid))
		p->random_known = false; // we are late: it may be another image already, which is about to ask
	session_note_error(s, process_started(p));
}

bool session_make_room(struct session *s, int r)
{
	return (r == -ENOSPC || r == -EDQUOT) && s->writer->ops->make_room(s->writer);
}

// ------------------------------------------------------------------- ends

void session_count(struct session *s, const struct ctp_region *r)
{
	s->forks += ctp_load32(&r->ext->forks);
	s->forked += ctp_load32(&r->ext->inherited) != 0;
}

bool session_lives(struct session *s)
{
	if (s->n_processes > 1 || !s->processes[0]->ended) {
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

// For a core file, in which there is no other pair.
static void tell_clock(struct session *s)
{
	for (size_t i = 0; i < s->n_processes; i++) {
		struct ctp_ext *e = s->processes[i]->region->ext;
		ctp_store64(&e->clock_ticks1, 0);
		ctp_store64(&e->clock_ns1, s->clock.ns1);
		ctp_store64(&e->clock_ticks1, s->clock.ticks1);
	}
}

bool session_turn(struct session *s)
{
	uint64_t now = clock_mono_ns();
	if (now >= s->clock_again_ns) { // ever more rarely: the rate only gets better
		clock_again(&s->clock);
		tell_clock(s);
		s->witness_clock.ns_per_tick = s->clock.ns_per_tick;
		s->clock_again_ns = now + s->clock_step_ns;
		s->clock_step_ns = s->clock_step_ns < 1000000000 ? s->clock_step_ns * 2 : s->clock_step_ns;
	}
	bool busy = false;
	for (size_t i = 0; i < s->n_processes; i++)
		if (!s->processes[i]->ended)
			busy |= process_turn(s->processes[i], now);
	busy |= v1_turn(s->v1, &s->clock);
	module_scan_read(&s->switchers);
	follow_answer(s);
	follow_reap(s);
	tell_error(s);
	snapshots_poll(s);
	return busy;
}

bool session_may_idle(const struct session *s)
{
	return !s->processes[0]->harvest->went_on && s->n_processes == 1 && !s->options->follow && !s->options->no_preload && !v1_stations(s->v1);
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
	output_tidy(&s->output);
	shm_forget(&s->first.region);
	for (size_t i = 0; i < s->n_processes; i++)
		if (!s->processes[i]->ended && s->processes[i]->region != &s->first.region)
			shm_forget(s->processes[i]->region);
}

void session_snapshot(struct session *s, const char *reason)
{
	uint64_t end = clock_mono_ns() + (strcmp(reason, "timeout") ? PROCESS_SNAPSHOT_NS : PROCESS_TIMEOUT_NS);
	size_t n = s->n_processes; // who begins meanwhile has his turn later: those that end are to be reaped in between
	for (size_t i = 0; i < n && i < s->n_processes; i++) { // each has its share of what is left
		uint64_t now = clock_mono_ns(), left = end > now ? (end - now) / (n - i) : 0;
		if (!s->processes[i]->ended)
			process_snapshot(s->processes[i], reason, now + left);
		follow_answer(s);
	}
	v1_turn(s->v1, &s->clock);
}

void session_told(struct session *s, struct process *p, uint64_t ns)
{
	p->about.term_forwarded_ns = ns;
	if (p->index == 0)
		s->manifest.term_forwarded_ns = ns;
}

void session_final(struct session *s, bool close)
{
	size_t n = s->n_processes; // as above
	for (size_t i = 0; i < n && i < s->n_processes; i++) {
		struct process *p = s->processes[i];
		if (p->ended || p->final_done || ctp_load32(&p->region->ext->final_asked) != CTP_FINAL_ASKED)
			continue;
		process_final(p);
		if (close)
			session_write(s);
		process_release(p);
		follow_answer(s);
	}
}

// ------------------------------------------------------------- the trace's end

static void cover(struct session *s, const char *text)
{
	struct manifest *m = &s->manifest;
	for (unsigned i = 0; i < m->n_coverage; i++)
		if (!strcmp(m->coverage[i], text))
			return;
	if (m->n_coverage < MANIFEST_COVERAGE)
		snprintf(m->coverage[m->n_coverage++], sizeof(m->coverage[0]), "%s", text);
}

// An image without libctp.so followed the last one that had it.
static void cover_exec(struct session *s)
{
	const struct manifest *m = &s->manifest;
	const struct process *p = s->processes[0];
	const char *became;
	char text[256];
	if (s->spent)
		cover(s, "the program called exec so often, or left such tables, that its later images were not traced");
	if (!p->about.guest)
		cover(s, "libctp.so did not attach to the last program image");
	else if (process_escaped(p, &became) && became) {
		snprintf(text, sizeof(text), "the process became %.120s, without libctp.so (statically linked?): "
			 "what it did from there on is not in the trace", became);
		cover(s, text);
	} else if (process_escaped(p, &became) && !strcmp(m->ended_how ? m->ended_how : "", "exit")) {
		cover(s, "the program's end was not seen: it became another program, without libctp.so "
			 "(statically linked?), or exited by a system call of its own");
	}
}

uint64_t session_untraced(const struct session *s)
{
	uint64_t made = s->forks, traced = s->forked;
	for (size_t i = 0; i < s->n_processes; i++) {
		made += ctp_load32(&s->processes[i]->region->ext->forks);
		traced += ctp_load32(&s->processes[i]->region->ext->inherited) != 0;
	}
	return made > traced ? made - traced : 0;
}

static void cover_children(struct session *s)
{
	char text[256];
	uint64_t untraced = session_untraced(s);
	if (!s->options->follow)
		return;
	if (untraced) {
		snprintf(text, sizeof(text), "%llu forked children were not traced: they could not reach ctp-run (other rights, "
			 "another root, no descriptor left)", (unsigned long long)untraced);
		cover(s, text);
	}
	if (s->let_go) {
		snprintf(text, sizeof(text), "%u children went on when ctp-run ended: it was not certain that they are the program's, so no "
			 "signal went to them", s->let_go);
		cover(s, text);
	}
	if (s->escaped) {
		snprintf(text, sizeof(text), "%u children were killed, or became programs without libctp.so: what they did "
			 "from there on is not in the trace", s->escaped);
		cover(s, text);
	}
}

uint64_t session_since(const struct session *s)
{
	uint64_t now = clock_mono_ns(), back = (uint64_t)(s->options->flight_s * 1e9);
	return back && back < now ? clock_to_ticks(&s->clock, now - back) : 0;
}

static void cover_all(struct session *s)
{
	const struct manifest *m = &s->manifest;
	if (s->options->flight_bytes && m->ended_ns)
		snapshots_say(s, &s->manifest, snapshots_written(s), session_sum(s).switches);
	if (!s->options->no_preload)
		cover_exec(s);
	if (m->ended_ns)
		cover_children(s);
	if (s->no_tables)
		cover(s, "there was no time to write the tables before the program was told to end: they are those of its end");
	if (m->v1_lost)
		cover(s, "events of version-1 probes were overwritten before they were read");
	if (m->dropped_records)
		cover(s, "the oldest history was dropped to keep to --max-size, or could not be written");
}

static void write_manifest(struct session *s)
{
	struct manifest *m = &s->manifest;
	int r;
	while (session_make_room(s, r = ctf_metadata(s->output.fd, &s->clock, s->options->compress)))
		;
	session_note_error(s, r);
	do {
		m->dropped_packets = s->writer->dropped_packets;
		m->dropped_records = s->writer->dropped_records;
		r = manifest_write(m, s->output.fd);
	} while (session_make_room(s, r));
	session_note_error(s, r);
}

void session_write(struct session *s)
{
	struct manifest *m = &s->manifest;
	const struct manifest_image *first = &s->processes[0]->about;
	m->complete = !s->incomplete;
	v1_turn(s->v1, &s->clock);
	for (size_t i = 0; i < s->n_processes; i++)
		if (!s->processes[i]->ended)
			m->complete &= process_write(s->processes[i]);
	s->writer->ops->flush(s->writer);
	while (module_scan_read(&s->switchers))
		;
	clock_again(&s->clock);
	m->dropped_records = s->writer->dropped_records;
	m->v1_lost = v1_lost(s->v1);
	m->snapshot_ns = first->snapshot_ns;
	m->snapshot_reason = first->snapshot_reason;
	cover_all(s);
	if (!s->output.jsonl)
		write_manifest(s);
	tell_error(s);
}

void session_ended(struct session *s, const char *how, int code)
{
	struct manifest *m = &s->manifest;
	m->ended_ns = clock_mono_ns();
	m->ended_how = how;
	m->ended_code = code;
	process_ended(s->processes[0]);
	s->incomplete |= !process_write(s->processes[0]);
	follow_gone(s, s->processes[0]->pid);
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

void session_deinit(struct session *s)
{
	for (size_t i = s->n_processes; i-- > 0;)
		session_drop(s, i);
	free(s->processes);
	ids_deinit(&s->ids);
	v1_free(s->v1);
	if (s->writer)
		s->writer->ops->free(s->writer);
	module_scan_deinit(&s->switchers);
	free(s->manifest.images);
	output_deinit(&s->output);
	shm_unmap(&s->first);
	*s = (struct session){ .output = OUTPUT_NONE };
}
