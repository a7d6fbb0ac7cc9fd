// SPDX-License-Identifier: MIT
//
// A session begins with a region, goes on with a trace once the pid is known,
// and gets another region whenever the process becomes another program by
// exec. Version-1 probes stay with the first region, whose path they know.
// What fails while the program runs is said once, and the program goes on.
#include "engine/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <linux/futex.h>
#include <unistd.h>

#include "ctp/seq.h"
#include "engine/ctf.h"
#include "engine/lines.h"
#include "engine/log.h"
#include "engine/tables.h"

#define EXE_AGAIN_NS 50000000

static void futex_wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void describe(struct session *s, struct shm *shm, uint32_t more_options)
{
	struct ctp_ext *e = shm->region.ext;
	e->clock_kind = s->clock.tsc ? CTP_CLOCK_TSC : CTP_CLOCK_MONOTONIC;
	e->clock_ticks0 = s->clock.ticks0;
	e->clock_ns0 = s->clock.ns0;
	e->options = (s->options->block ? CTP_OPT_BLOCK : 0) | more_options;
	ctp_store32(&e->engine_pid, (uint32_t)getpid());
}

int session_region(struct session *s, const struct options *o, bool libasan)
{
	*s = (struct session){ .options = o, .output.fd = -1, .first.fd = -1, .next.fd = -1 };
	clock_init(&s->clock);
	int r = shm_init(&s->first, o->stations, o->shm_file);
	if (r < 0)
		return r;
	describe(s, &s->first, libasan ? CTP_OPT_NO_FREE : 0);
	s->region = &s->first.region;
	return 0;
}

int session_region_adopt(struct session *s, const struct options *o, int fd)
{
	*s = (struct session){ .options = o, .output.fd = -1, .first.fd = -1, .next.fd = -1 };
	int r = shm_adopt(&s->first, fd);
	if (r < 0)
		return r;
	const struct ctp_ext *e = s->first.region.ext;
	clock_adopt(&s->clock, e->clock_kind == CTP_CLOCK_TSC, e->clock_ticks0, e->clock_ns0);
	s->region = &s->first.region;
	return 0;
}

static FILE *open_lines(int dir, const char *name)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "a");
	if (!f && fd >= 0)
		close(fd);
	return f;
}

static void close_witness(struct session *s)
{
	witness_free(s->witness);
	s->witness = NULL;
	if (s->witness_out)
		fclose(s->witness_out);
	if (s->descriptors)
		fclose(s->descriptors);
	s->witness_out = s->descriptors = NULL;
}

// The present image's directory, with its witness.
static int begin_image(struct session *s)
{
	struct manifest_image *more;
	more = realloc(s->manifest.images, sizeof(*more) * (s->manifest.n_images + 1));
	if (!more)
		return -ENOMEM;
	s->manifest.images = more;
	more[s->manifest.n_images++] = (struct manifest_image){ .index = s->image };
	if (s->output.jsonl)
		return 0;
	int dir = output_image(&s->output, s->image, NULL);
	if (dir < 0)
		return dir;
	s->witness_clock = (struct witness_clock){ s->clock.tsc, s->clock.ticks0, s->clock.ns0,
						   s->clock.ns_per_tick };
	s->witness_out = open_lines(dir, "witness.jsonl");
	s->descriptors = open_lines(dir, "descriptors.jsonl");
	close(dir);
	s->witness = witness_new(s->region, s->pid, s->witness_out, s->descriptors, &s->witness_clock,
				 s->options->prove);
	return s->witness ? 0 : -ENOMEM;
}

int session_open(struct session *s, const char *output, pid_t pid, char **command)
{
	s->pid = pid;
	s->manifest = (struct manifest){ .command = command, .pid = pid, .clock = &s->clock };
	int r = output_init(&s->output, output, pid, command && command[0] ? command[0] : "");
	if (r)
		return r;
	clock_again(&s->clock);
	s->clock_step_ns = 100000000;
	s->writer = s->output.jsonl ? lines_new(s->output.fd, s->options->max_bytes, &s->region, &s->clock)
				    : ctf_new(s->output.fd, s->options->max_bytes);
	s->harvest = s->writer ? harvest_new(s->region, s->writer) : NULL;
	s->v1 = s->writer ? v1_new(s->region, s->writer) : NULL;
	r = s->harvest && s->v1 ? begin_image(s) : -ENOMEM;
	if (!r && !s->output.jsonl)
		r = ctf_metadata(s->output.fd, &s->clock);
	if (!r && !s->output.jsonl)
		r = manifest_write(&s->manifest, s->output.fd);
	if (r < 0)
		session_undo(s);
	return r;
}

void session_undo(struct session *s)
{
	close_witness(s);
	output_remove(&s->output);
}

void session_started(struct session *s, const char *exe)
{
	char link[64];
	struct manifest_image *im = &s->manifest.images[s->manifest.n_images - 1];
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)s->pid);
	char *real = exe ? realpath(exe, NULL) : NULL;
	ssize_t n = real ? 0 : readlink(link, im->exe, sizeof(im->exe) - 1);
	if (real)
		snprintf(im->exe, sizeof(im->exe), "%s", real);
	else if (n > 0)
		im->exe[n] = '\0';
	free(real);
	if (!s->output.jsonl)
		manifest_write(&s->manifest, s->output.fd);
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

static void note_error(struct session *s, int r)
{
	if (r < 0 && !s->writer->error)
		s->writer->error = r;
	tell_error(s);
}

static void close_image(struct session *s)
{
	struct manifest_image *im = &s->manifest.images[s->manifest.n_images - 1];
	im->guest = ctp_load32(&s->region->ext->guest_pid) != 0;
	im->attached_ns = s->region->ext->attached_ns;
}

// The disk is full, and a piece of history has made room: try again.
static bool make_room(struct session *s, int r)
{
	return (r == -ENOSPC || r == -EDQUOT) && s->writer->ops->make_room(s->writer);
}

// True if the tables are on the disk.
static bool dump(struct session *s, const char *sub)
{
	if (s->output.jsonl)
		return true;
	int r;
	do {
		int dir = output_image(&s->output, s->image, sub);
		r = dir < 0 ? dir : tables_dump(dir, s->region, &s->harvest->ended, clock_ticks(&s->clock));
		if (dir >= 0)
			close(dir);
	} while (make_room(s, r));
	note_error(s, r);
	return r >= 0;
}

// The process became another program, which asks through the region `asked`
// for one of its own. Ids go on where they were, so that they stay unique.
static void next_image(struct session *s, struct ctp_ext *asked)
{
	struct shm fresh;
	ctp_store32(&asked->next_asked, 0);
	int r = shm_init(&fresh, s->options->stations, NULL);
	if (r < 0) {
		log_line(LOG_FAIL, "no region for the program after exec (%s): it runs on untraced", strerror(-r));
		return;
	}
	if (s->witness)
		witness_ended(s->witness);
	harvest_leave(s->harvest, clock_mono_ns());
	dump(s, NULL);
	close_image(s);
	close_witness(s);
	uint64_t ids = ctp_load64(&s->region->ext->next_id);
	describe(s, &fresh, s->region->ext->options & (CTP_OPT_NO_FREE | CTP_OPT_SELF));
	fresh.region.ext->next_id = ids;
	fresh.region.ext->image = ++s->image;
	if (s->image > 1) {
		shm_empty(&s->next);
		shm_unmap(&s->next);
	}
	s->next = fresh;
	s->region = &s->next.region;
	harvest_enter(s->harvest, s->region);
	s->final_done = false;
	s->exe[0] = '\0';
	note_error(s, begin_image(s));
	session_started(s, NULL);
	log_line(LOG_MORE, "image %u: %s", s->image, s->manifest.images[s->manifest.n_images - 1].exe);
	ctp_store32(&asked->next_region, (uint32_t)fresh.fd + 1);
	futex_wake(&asked->next_region);
}

// What the process is now, if that can still be seen. (Not said at once: a
// new image differs for a while before it asks for its region.)
static void look_at_exe(struct session *s, uint64_t now)
{
	char link[64], exe[sizeof(s->exe)];
	if (now < s->exe_again_ns)
		return;
	s->exe_again_ns = now + EXE_AGAIN_NS;
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)s->pid);
	ssize_t n = readlink(link, exe, sizeof(exe) - 1);
	if (n > 0) {
		exe[n] = '\0';
		memcpy(s->exe, exe, (size_t)n + 1);
	}
}

bool session_turn(struct session *s)
{
	uint64_t now = clock_mono_ns();
	struct ctp_ext *e = s->region->ext;
	look_at_exe(s, now);
	ctp_store64(&e->heartbeat, e->heartbeat + 1);
	if (now >= s->clock_again_ns) { // ever more rarely: the rate only gets better
		clock_again(&s->clock);
		s->witness_clock.ns_per_tick = s->clock.ns_per_tick;
		s->clock_again_ns = now + s->clock_step_ns;
		s->clock_step_ns = s->clock_step_ns < 1000000000 ? s->clock_step_ns * 2 : s->clock_step_ns;
	}
	bool busy = harvest_turn(s->harvest, now, false);
	busy |= v1_turn(s->v1, &s->clock);
	if (ctp_load32(&s->first.region.ext->next_asked))
		next_image(s, s->first.region.ext);
	else if (ctp_load32(&s->region->ext->next_asked))
		next_image(s, s->region->ext);
	if (s->witness)
		witness_poll(s->witness);
	tell_error(s);
	return busy;
}

void session_snapshot(struct session *s, const char *reason)
{
	harvest_turn(s->harvest, clock_mono_ns(), true);
	v1_turn(s->v1, &s->clock);
	if (s->witness)
		witness_final(s->witness, true);
	s->manifest.snapshot_ns = clock_mono_ns();
	s->manifest.snapshot_reason = reason;
	if (strcmp(reason, "exit"))
		dump(s, "snapshot");
}

void session_told(struct session *s, uint64_t ns)
{
	s->manifest.term_forwarded_ns = ns;
	if (s->witness)
		witness_tell(s->witness, ns);
}

// After SIGTERM or --timeout the exit that follows is no look of its own.
static bool just_looked(const struct session *s)
{
	const struct manifest *m = &s->manifest;
	return m->snapshot_ns && (!strcmp(m->snapshot_reason, "timeout") ||
				  clock_mono_ns() - m->snapshot_ns < 2000000000);
}

void session_final(struct session *s, bool close)
{
	struct ctp_ext *e = s->region->ext;
	if (just_looked(s)) {
		harvest_turn(s->harvest, clock_mono_ns(), true);
		if (s->witness)
			witness_final(s->witness, true);
	} else {
		session_snapshot(s, "exit");
	}
	if (close)
		session_write(s);
	s->final_done = true;
	ctp_store32(&e->final_done, CTP_FINAL_DONE);
	futex_wake(&e->final_done);
}

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
	const struct manifest_image *im = &m->images[m->n_images - 1];
	char text[256];
	if (s->options->no_preload || !im->guest)
		return;
	if (*s->exe && strcmp(s->exe, im->exe)) {
		snprintf(text, sizeof(text), "the process became %.120s, without libctp.so (statically linked?): "
			 "what it did from there on is not in the trace", s->exe);
		cover(s, text);
	} else if (!strcmp(m->ended_how ? m->ended_how : "", "exit") && !ctp_load64(&s->region->ext->exit_begun)) {
		cover(s, "the program's end was not seen: it became another program, without libctp.so "
			 "(statically linked?), or exited by a system call of its own");
	}
}

void session_write(struct session *s)
{
	struct manifest *m = &s->manifest;
	char text[256];
	harvest_turn(s->harvest, clock_mono_ns(), true);
	v1_turn(s->v1, &s->clock);
	s->writer->ops->flush(s->writer);
	m->complete = dump(s, NULL);
	close_image(s);
	clock_again(&s->clock);
	m->dropped_packets = s->writer->dropped_packets;
	m->dropped_records = s->writer->dropped_records;
	m->v1_lost = v1_lost(s->v1);
	if (!m->images[m->n_images - 1].guest && !s->options->no_preload)
		cover(s, "libctp.so did not attach to the last program image");
	cover_exec(s);
	if (m->v1_lost) {
		snprintf(text, sizeof(text), "events of version-1 probes were overwritten before they were read");
		cover(s, text);
	}
	if (m->dropped_records)
		cover(s, "the oldest history was dropped to keep to --max-size, or could not be written");
	if (!m->snapshot_ns) {
		m->snapshot_ns = s->clock.ns1;
		m->snapshot_reason = "ended";
	}
	if (!s->output.jsonl) {
		int r;
		while (make_room(s, r = ctf_metadata(s->output.fd, &s->clock)))
			;
		note_error(s, r);
		do {
			m->dropped_packets = s->writer->dropped_packets;
			m->dropped_records = s->writer->dropped_records;
			r = manifest_write(m, s->output.fd);
		} while (make_room(s, r));
		note_error(s, r);
	}
	tell_error(s);
}

void session_ended(struct session *s, const char *how, int code)
{
	struct manifest *m = &s->manifest;
	m->ended_ns = clock_mono_ns();
	m->ended_how = how;
	m->ended_code = code;
	if (s->witness)
		witness_ended(s->witness);
}

void session_deinit(struct session *s)
{
	close_witness(s);
	harvest_free(s->harvest);
	v1_free(s->v1);
	if (s->writer)
		s->writer->ops->free(s->writer);
	free(s->manifest.images);
	output_deinit(&s->output);
	shm_unmap(&s->next);
	shm_unmap(&s->first);
	*s = (struct session){ .output.fd = -1 };
}
