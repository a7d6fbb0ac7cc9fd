// SPDX-License-Identifier: MIT
//
// A process gets another region whenever it calls exec. An image of the first process is in
// the manifest from its start; an image of a child only once there is something to report: a
// coroutine, with a stack or without. A child that never had any (a shell's) leaves nothing in the
// trace. An error while the program runs is reported once, and the program goes on.
#include "engine/session/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/living.h"
#include "ctp/seq.h"
#include "engine/target/log.h"
#include "engine/target/pidfd.h"
#include "engine/record/tables.h"

#define EXE_AGAIN_NS 50000000
#define EXE_RARELY_NS 1000000000 // where nobody has moved for
#define EXE_STILL_NS 3000000000  // so long

// The lines go to the image's directory.
void process_store_files(struct process *p)
{
	if (p->files.in_memory)
		recorder_note_error(p->recorder,
				    image_files_store(&p->files, &p->recorder->output, p->about.index));
}

static void close_witness(struct process *p)
{
	process_store_files(p);
	p->had_stackless |= stackless_watch_found(p->stackless);
	stackless_watch_free(p->stackless);
	p->stackless = NULL;
	findings_deinit(&p->findings);
	witness_free(p->witness);
	sets_free(p->sets);
	scripts_free(p->scripts);
	p->scripts = NULL;
	p->witness = NULL;
	p->sets = NULL;
	slices_free(p->slices);
	p->slices = NULL;
	open_stacks_deinit(&p->open_stacks);
	image_files_close(&p->files);
}

// A witness, and files for what it sees.
static int open_witness(struct process *p)
{
	const struct recorder *r = p->recorder;
	if (r->output.jsonl)
		return 0;
	int e = image_files_open(&p->files);
	if (e < 0)
		return e;
	FILE *const *out = p->files.of;
	p->witness = witness_new(p->region, p->pid, out[IMAGE_WITNESS], out[IMAGE_DESCRIPTORS],
				 &r->witness_clock, p->options->prove);
	if (p->witness)
		witness_inherit(p->witness, p->control);
	findings_init(&p->findings, p->region, p->pid, p->witness);
	p->slices = slices_new(p->region, p->pid, out[IMAGE_SLICES], &r->witness_clock);
	p->sets = out[IMAGE_SETS] ? sets_new(p->region, p->pid, out[IMAGE_SETS]) : NULL;
	p->scripts = scripts_new(p->region, p->pid);
	p->stackless = p->witness ? stackless_watch_new(p->region, p->pid, out[IMAGE_STACKLESS],
							witness_keys(p->witness)) :
				    NULL;
	return p->witness && p->slices ? 0 : -ENOMEM;
}

// From here on the present image leaves its traces.
static int list(struct process *p)
{
	int index = recorder_add_image(p->recorder, &p->about);
	if (index < 0)
		return index;
	p->listed = index;
	p->about.index = (unsigned)index;
	return p->harvest->to ? 0 : harvest_begin(p->harvest, p->index, &p->region);
}

// A new image, whose region is p->region.
static int begin(struct process *p)
{
	p->listed = -1;
	p->final_done = false;
	p->exe[0] = '\0';
	p->first_id = ctp_load64(&p->region->ext->next_id);
	p->about = (struct manifest_image){.process = p->index,
					   .pid = p->pid,
					   .parent = p->parent,
					   .term_forwarded_ns = p->about.term_forwarded_ns};
	return p->index == 0 ? list(p) : 0;
}

static pid_t parent_of(pid_t pid)
{
	char path[64], text[512];
	int parent = 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	if (f)
		fclose(f);
	text[n] = '\0';
	const char *end = strrchr(text, ')'); // PID (NAME) STATE PPID
	if (!end || sscanf(end + 1, " %*c %d", &parent) != 1)
		return 0;
	return parent;
}

int process_init(struct process *p, unsigned index, pid_t pid, const struct ctp_region *region)
{
	p->index = index;
	p->pid = pid;
	p->parent = parent_of(pid);
	p->region = region ? region : &p->own.region;
	p->harvest = harvest_new(p->region, p->recorder->writer);
	if (p->harvest) {
		p->harvest->pid = pid;
		p->harvest->seen = p->recorder->seen;
		p->harvest->seen_arg = p->recorder->seen_arg;
	}
	if (p->harvest && p->uprobes && !(p->harvest->ran = ran_new(&p->region)))
		return -ENOMEM;
	return p->harvest ? begin(p) : -ENOMEM;
}

void process_deinit(struct process *p)
{
	close_witness(p);
	harvest_free(p->harvest);
	shm_unmap(&p->own);
	if (p->own.fd >= 0)
		close(p->own.fd);
	if (p->pidfd >= 0)
		close(p->pidfd);
	*p = (struct process){.own.fd = -1, .pidfd = -1, .ids = -1, .listed = -1, .ended = true};
}

// What is known of the image now, into the manifest.
static void keep_about(struct process *p)
{
	p->about.guest = ctp_load32(&p->region->ext->guest_pid) != 0;
	p->about.attached_ns = p->region->ext->attached_ns;
	if (p->listed >= 0)
		p->recorder->manifest.images[p->listed] = p->about;
}

void process_note_exe(struct process *p, const char *exe)
{
	char link[64];
	struct manifest_image *im = &p->about;
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)living_of(p->pid));
	char *real = exe ? realpath(exe, NULL) : NULL;
	ssize_t n = exe ? 0 : readlink(link, im->exe, sizeof(im->exe) - 1);
	if (real)
		snprintf(im->exe, sizeof(im->exe), "%s", real);
	else if (n > 0)
		im->exe[n] = '\0';
	free(real);
	keep_about(p);
}

int process_started(struct process *p)
{
	int e = p->listed < 0 ? 0 : open_witness(p);
	process_store_files(p);
	return e;
}

// True if the tables are on the disk. Those that are not there by late_ns shall not be.
bool process_dump(struct process *p, const char *sub, uint64_t late_ns)
{
	return p->listed < 0 || recorder_tables(p->recorder, p->about.index, sub, p->harvest, &p->open_stacks,
						late_ns, p->ended);
}

// Has anything happened that the trace must tell?
void process_note_activity(struct process *p)
{
	if (p->listed >= 0 || (!p->harvest->pressed && !ctp_load32(&p->region->ext->born) &&
			       ctp_load64(&p->region->ext->next_id) == p->first_id))
		return;
	int r = list(p);
	recorder_note_error(p->recorder, r < 0 ? r : open_witness(p));
}

void process_empty(struct process *p)
{
	uprobes_drain(p->uprobes);
	p->harvest->pressed |= uprobes_due(p->uprobes, p->pid);
	process_note_activity(p);
	event_list_look(p->events, p->region, &p->events_seen);
	harvest_turn(p->harvest, clock_mono_ns(), true);
	uprobes_place(p->uprobes, p->pid, p->harvest, &p->placed);
}

static void count_forks(const struct ctp_region *r, uint64_t *made, uint64_t *traced)
{
	*made += ctp_load32(&r->ext->forks);
	*traced += ctp_load32(&r->ext->inherited) != 0;
}

void process_count_forks(const struct process *p, uint64_t *made, uint64_t *traced)
{
	*made += p->forks;
	*traced += p->forked;
	count_forks(p->region, made, traced);
}

int process_next(struct process *p, struct shm *fresh)
{
	process_empty(p);
	if (p->slices)
		slices_final(p->slices);
	if (p->stackless)
		stackless_watch_ended(p->stackless, p->final_done);
	if (p->witness)
		witness_ended(p->witness);
	p->found += findings_standing(&p->findings);
	harvest_keep(p->harvest, recorder_since(p->recorder));
	harvest_leave(p->harvest, clock_mono_ns());
	process_dump(p, NULL, UINT64_MAX);
	keep_about(p);
	close_witness(p);
	p->control = 0;
	count_forks(p->region, &p->forks, &p->forked);
	if (p->own.fd >= 0) {
		shm_unmap(&p->own);
		close(p->own.fd);
	}
	p->own = *fresh;
	p->region = &p->own.region;
	p->region->ext->image = ++p->execs;
	harvest_enter(p->harvest, p->region);
	p->watch = (struct module_scan_watch){0};
	p->events_seen = 0;
	int r = begin(p);
	return r < 0 ? r : process_started(p);
}

// What the process is now, if that can still be seen. (Not said at once: a
// new image differs for a while before it asks for its region.)
static void read_exe(struct process *p, uint64_t now)
{
	char link[64], exe[sizeof(p->exe)];
	uint64_t moved = ctp_region_moves(p->region); // whoever calls exec has come out of his wait
	if (moved != p->moved) {
		p->moved = moved;
		p->moved_ns = now;
	}
	bool still = now - p->moved_ns >= EXE_STILL_NS;
	if (p->exe_ns && now - p->exe_ns < (still ? EXE_RARELY_NS : EXE_AGAIN_NS))
		return;
	p->exe_ns = now;
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)living_of(p->pid));
	ssize_t n = readlink(link, exe, sizeof(exe) - 1);
	if (n > 0) {
		exe[n] = '\0';
		memcpy(p->exe, exe, (size_t)n + 1);
	}
}

// The program stands at its end until it is answered: what is not done by then is done after it. Beside
// threads that compute, each millisecond of ours is the wait of a whole round of them.
static bool at_its_end(const struct process *p)
{
	return harvest_put_off(p->region);
}

void process_look_at_scripts(struct process *p, uint64_t now, bool last, uint64_t until)
{
	FILE *out = p->scripts && scripts_due(p->scripts, now, last) ?
			    image_files_rare(&p->files, IMAGE_SCRIPTS, &p->recorder->output, p->about.index) :
			    NULL;
	if (out)
		scripts_look(p->scripts, out, now, last, until);
}

bool process_turn(struct process *p, uint64_t now, bool alone)
{
	struct ctp_ext *e = p->region->ext;
	read_exe(p, now);
	process_store_files(p);
	ctp_store64(&e->heartbeat, e->heartbeat + 1);
	bool due = uprobes_due(p->uprobes, p->pid);
	p->harvest->pressed |= due;
	process_note_activity(p);
	event_list_look(p->events, p->region, &p->events_seen);
	bool busy = harvest_turn(p->harvest, now, due) || due;
	if (due)
		uprobes_place(p->uprobes, p->pid, p->harvest, &p->placed);
	if (p->witness && !at_its_end(p))
		witness_poll(p->witness, alone);
	if (p->witness && !at_its_end(p))
		findings_poll(&p->findings, now);
	if (p->sets && !at_its_end(p))
		sets_poll(p->sets);
	if (p->stackless && !at_its_end(p))
		busy |= stackless_watch_poll(p->stackless);
	if (!at_its_end(p))
		process_look_at_scripts(p, now, false, UINT64_MAX);
	if (p->slices && !p->recorder->writer->stopped && !at_its_end(p))
		busy |= slices_poll(p->slices, now);
	if (!p->options->no_preload && !at_its_end(p))
		module_scan_turn(&p->recorder->modules, &p->watch, p->pid, p->region, now);
	return busy;
}

int process_copy(struct process *p, const struct output *to, struct writer *w, uint64_t since,
		 uint64_t *switches)
{
	struct flight_recorder *k = p->harvest->flight ? flight_recorder_copy(p->harvest->flight) : NULL;
	struct writer_process *wp = k ? w->ops->process(w, p->index, &p->region) : NULL;
	if (wp) {
		flight_recorder_write(k, p->region, w, wp, since);
		w->ops->process_end(w, wp);
		*switches += k->switches;
	}
	flight_recorder_free(k);
	if (!wp && (p->harvest->flight || p->region->chunks))
		return p->harvest->flight ? -ENOMEM : 0; // nothing has happened in it yet
	int dir = output_image(to, p->about.index, NULL);
	struct tables_copy copy = {.ticks = clock_ticks(&p->recorder->clock),
				   .late_ns = UINT64_MAX,
				   .open_stacks = &p->open_stacks};
	int r = dir < 0 ? dir : tables_dump(dir, p->region, p->pid, &p->harvest->ended, &copy);
	if (dir >= 0)
		close(dir);
	return r;
}

// After SIGTERM or --timeout the exit that follows is no look of its own.
bool process_just_inspected(const struct process *p)
{
	const struct manifest_image *im = &p->about;
	return im->snapshot_ns &&
	       (!strcmp(im->snapshot_reason, "timeout") || clock_mono_ns() - im->snapshot_ns < 2000000000);
}

// It was looked at while it ended; or as it was asked to end, and that signal ended it without a line of its
// own code, while its threads may still have made a call.
static bool ended_as_seen(const struct process *p)
{
	const struct manifest *m = &p->recorder->manifest;
	return p->final_done ||
	       (process_just_inspected(p) && m->ended_how && !strcmp(m->ended_how, "signal") &&
		m->ended_code == SIGTERM && !ctp_load64(&p->region->ext->signal_taken));
}

// After an inspection at the program's end no tables are written of their own: those of its death
// are the snapshot, as exit handlers may still resume coroutines.
static bool tables_follow(const char *reason)
{
	return !strcmp(reason, "exit") || !strcmp(reason, "crash");
}

bool process_write(struct process *p)
{
	process_empty(p);
	harvest_keep(p->harvest, recorder_since(p->recorder));
	module_scan_functions(&p->recorder->modules, p->region);
	if (p->harvest->to)
		p->recorder->writer->ops->image(p->recorder->writer, p->harvest->to);
	bool there = process_dump(p, NULL, UINT64_MAX);
	if (!p->about.snapshot_ns || tables_follow(p->about.snapshot_reason)) {
		p->about.snapshot_reason = p->about.snapshot_ns ? p->about.snapshot_reason : "ended";
		p->about.snapshot_ns = clock_mono_ns();
	}
	keep_about(p);
	return there;
}

void process_ended(struct process *p)
{
	p->ended = true;
	process_empty(p);
	if (p->slices)
		slices_final(p->slices);
	if (p->stackless)
		stackless_watch_ended(p->stackless, ended_as_seen(p));
	if (p->witness)
		witness_ended(p->witness);
	p->found += findings_standing(&p->findings);
}

unsigned process_found(const struct process *p)
{
	return p->found + (p->ended ? 0 : findings_standing(&p->findings));
}

bool process_gone(const struct process *p)
{
	return p->gone || pidfd_gone(p->pid, p->pidfd);
}

bool process_escaped(const struct process *p, const char **became)
{
	*became = *p->exe && strcmp(p->exe, p->about.exe) ? p->exe : NULL;
	return p->about.guest && (*became || !ctp_load64(&p->region->ext->exit_begun));
}
