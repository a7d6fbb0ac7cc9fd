// SPDX-License-Identifier: MIT
//
// An inspection looks at everything that the tables alone do not tell: stacks, locks, sets, C++20 coroutines,
// memory. Whoever asks says by when the tables have to be on the disk; what is left of that time is shared
// out. A process that waits for us (it exits, or dies by a signal) waits no longer than that.
#include "engine/session/process_inspect.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/slices/held.h"
#include "engine/slices/highwater.h"

#define STATION_NS 250ULL       // to write one
#define INSPECT_NS 100000000ULL // to inspect, whatever the tables take
#define TABLES_NS 100000000ULL  // to write them, whatever the look took
#define CRASH_NS 5000000ULL     // for all that is asked of a process that dies by a signal: it waits for it
#define PART_NS (CRASH_NS / 2)  // a part of an inspection has as much at least

// When to be done with looking, if the tables are to be written by `end_ns`.
static uint64_t inspect_until(const struct process *p, uint64_t now, uint64_t end_ns)
{
	uint64_t tables = STATION_NS * ctp_load32(&p->region->header->allocated_count);
	return end_ns > now + INSPECT_NS + tables ? end_ns - tables : now + INSPECT_NS;
}

static uint64_t tables_until(uint64_t end_ns)
{
	uint64_t least = clock_mono_ns() + TABLES_NS;
	return end_ns > least ? end_ns : least;
}

// When the first n-th part of the time for an inspection is over.
static uint64_t part_until(uint64_t now, uint64_t until, unsigned n)
{
	uint64_t part = (until - now) / n;
	return now + (part > PART_NS ? part : PART_NS);
}

static void inspect_image(struct process *p, bool may_stop, uint64_t now, uint64_t until)
{
	if (p->slices)
		slices_final(p->slices);
	held_write(p->files.of[IMAGE_SLICES], p->region, p->pid);
	open_stacks_find(&p->open_stacks, p->region, p->pid, part_until(now, until, 8));
	highwater_write(p->files.of[IMAGE_HIGHWATER], p->region, p->pid, &p->open_stacks,
			part_until(now, until, 4));
	process_look_at_scripts(p, now, true, part_until(now, until, 8));
	if (p->sets)
		sets_final(p->sets, until); // first: the witness may stop threads
	if (p->stackless)
		stackless_watch_final(p->stackless, may_stop, until - (until - now) / 5);
	if (p->witness)
		witness_final(p->witness, may_stop,
			      until - (until - now) / 9); // its last step may take longer
	if (!p->options->no_preload)
		module_scan_find(&p->recorder->modules, p->pid, p->region);
}

static void inspect(struct process *p, const char *reason, uint64_t now, uint64_t until)
{
	inspect_image(p, !p->options->pid, now, until); // one that was attached to runs on
	p->about.snapshot_ns = clock_mono_ns();
	p->about.snapshot_reason = reason;
}

void process_inspect_snapshot(struct process *p, const char *reason, uint64_t end_ns)
{
	uint64_t now = clock_mono_ns();
	process_empty(p);
	inspect(p, reason, now, inspect_until(p, now, end_ns));
	process_store_files(p);
	p->recorder->no_tables |=
		!process_dump(p, "snapshot", strcmp(reason, "term") ? UINT64_MAX : tables_until(end_ns));
}

void process_inspect_now(struct process *p, uint64_t end_ns)
{
	uint64_t now = clock_mono_ns();
	process_empty(p);
	inspect_image(p, false, now, inspect_until(p, now, end_ns));
	process_store_files(p);
	image_files_flush(&p->files);
}

void process_inspect_final(struct process *p)
{
	process_note_activity(p); // the rest can wait: the process does, for ctp-run
	if (ctp_load64(&p->region->ext->next_id) == p->first_id &&
	    !stackless_watch_any(p->stackless)) { // no coroutine: why none was seen is all there is to learn
		module_scan_find(&p->recorder->modules, p->pid, p->region);
		return;
	}
	uint64_t now = clock_mono_ns();
	bool crashed = ctp_load32(&p->region->ext->crash.ready) == 1;
	uint64_t until = crashed ? now + CRASH_NS : inspect_until(p, now, now + PROCESS_SNAPSHOT_NS);
	harvest_turn(p->harvest, now, false);
	if (!process_just_inspected(p)) {
		inspect(p, crashed ? "crash" : "exit", now, until);
		return;
	}
	if (p->stackless)
		stackless_watch_again(p->stackless, until - (until - now) / 5);
	if (p->witness)
		witness_final(p->witness, true, until);
}

void process_inspect_release(struct process *p)
{
	struct ctp_ext *e = p->region->ext;
	p->final_done = true;
	ctp_store32(&e->final_done, CTP_FINAL_DONE);
	syscall(SYS_futex, &e->final_done, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}
