// SPDX-License-Identifier: MIT
//
// The recorded stack of a fiber of PHP's shows the interpreter, at the same few places whatever the script
// does. Its frames are read from memory, later: a fiber that waits for long is worth that, and one that is
// resumed soon is not. So a live look takes those that have not moved since the look before.
#include "engine/scripts/scripts.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "ctp/seq.h"
#include "ctp/there.h"
#include "engine/target/proc.h"
#include "engine/target/signals.h"
#include "unwind/php.h"

#define MS 1000000ULL
enum { EACH_MS = 500, LOOK_MS = 20, SHARE = 20, FRAMES = 32, FILE_MOST = 32 << 20 };

struct row { // of a station, as of the last look
	uint64_t id, changes;
	bool written;
};

struct scripts {
	const struct ctp_region *r;
	pid_t pid;
	struct unwind *unwind;
	uint32_t modules; // that have been asked
	uint64_t lo, hi;  // the interpreter; 0, 0: none
	uint64_t next_ns; // no live look before
	uint64_t moved;   // of the tables, at the last look
	bool waiting;     // the last look left some for the next one
	struct row *rows;
	size_t nrows;
};

struct scripts *scripts_new(const struct ctp_region *r, pid_t pid)
{
	struct scripts *s = calloc(1, sizeof(*s));
	if (s)
		*s = (struct scripts){.r = r, .pid = pid};
	return s;
}

void scripts_free(struct scripts *s)
{
	if (!s)
		return;
	unwind_free(s->unwind);
	free(s->rows);
	free(s);
}

static bool is_php(const struct ctp_module *m)
{
	char path[sizeof(m->path)];
	snprintf(path, sizeof(path), "%.*s", (int)sizeof(m->path) - 1, m->path);
	return php_is(file_base(path));
}

static bool find_php(struct scripts *s)
{
	uint32_t n = ctp_load32(&s->r->ext->module_count);
	for (; !s->hi && s->modules < n && s->modules < s->r->modules_max; s->modules++) {
		const struct ctp_module *m = &s->r->modules[s->modules];
		if (!ctp_load32((uint32_t *)&m->ready))
			break;
		if (is_php(m)) {
			s->lo = m->start;
			s->hi = m->end;
		}
	}
	return s->hi != 0;
}

bool scripts_due(struct scripts *s, uint64_t now_ns, bool last)
{
	return find_php(s) &&
	       (last || (now_ns >= s->next_ns && (s->waiting || ctp_region_moves(s->r) != s->moved)));
}

static json_t *frames_of(const struct php_frame *f, size_t n)
{
	json_t *all = json_array();
	for (size_t i = 0; i < n; i++) {
		json_t *file = json_text(*f[i].file ? f[i].file : NULL);
		json_array_append_new(all, json_pack("[o, o, I, o]", json_text(f[i].name), file,
						     (json_int_t)f[i].line, json_hex(f[i].at)));
	}
	return all;
}

// True: there is nothing more to be said of it while it stays where it is.
static bool write_one(struct scripts *s, FILE *out, const struct ctp_state *station,
		      const struct ctp_state *before)
{
	struct php_frame f[FRAMES];
	struct ctp_state after;
	size_t n = php_frames(s->unwind, before, s->lo, s->hi, f, FRAMES);
	if (!ctp_state_read(station, &after) || after.id != before->id || after.changes != before->changes)
		return false;
	json_t *o = n ? json_pack("{s:i, s:I, s:I, s:o}", "v", 1, "coroutine", (json_int_t)before->id,
				  "changes", (json_int_t)before->changes, "frames", frames_of(f, n)) :
			NULL;
	char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
	if (text)
		fprintf(out, "%s\n", text);
	free(text);
	json_decref(o);
	return true;
}

static bool grow(struct scripts *s, size_t n)
{
	if (n <= s->nrows)
		return true;
	size_t more = n > 2 * s->nrows ? n : 2 * s->nrows;
	struct row *rows = realloc(s->rows, more * sizeof(*rows));
	if (!rows)
		return false;
	memset(rows + s->nrows, 0, (more - s->nrows) * sizeof(*rows));
	s->rows = rows;
	s->nrows = more;
	return true;
}

// A long run's file is written anew from time to time: what stood in it of the past is over.
static void begin_anew(struct scripts *s, FILE *out)
{
	if (ftello(out) < FILE_MOST || fflush(out) || ftruncate(fileno(out), 0))
		return;
	rewind(out);
	for (size_t i = 0; i < s->nrows; i++)
		s->rows[i].written = false;
}

static bool sleeps(const struct ctp_state *station, struct ctp_state *c)
{
	return station->life == CTP_SUSPENDED && ctp_state_read(station, c) && c->life == CTP_SUSPENDED &&
	       c->entity == CTP_COROUTINE && !(c->flags & CTP_STATE_SHARED_STACK);
}

static void look_at_all(struct scripts *s, FILE *out, bool last, uint64_t until_ns)
{
	struct ctp_walk w = ctp_walk_states(s->r);
	struct ctp_state c;
	for (uint64_t i = ctp_walk_from(&w, 0); i < w.n; i = ctp_walk_from(&w, i + 1)) {
		if (!sleeps(&s->r->states[i], &c) || !grow(s, i + 1))
			continue;
		struct row *row = &s->rows[i];
		bool stayed = row->id == c.id && row->changes == c.changes;
		if (!stayed)
			*row = (struct row){.id = c.id, .changes = c.changes};
		if (row->written)
			continue;
		if ((last || stayed) && !signals_late(until_ns))
			row->written = write_one(s, out, &s->r->states[i], &c);
		s->waiting |= !row->written;
	}
}

void scripts_look(struct scripts *s, FILE *out, uint64_t now_ns, bool last, uint64_t until_ns)
{
	uint64_t live_ns = now_ns + LOOK_MS * MS, moved = ctp_region_moves(s->r);
	if (!s->unwind && unwind_new(&s->unwind, s->pid)) {
		s->hi = 0; // it cannot be read
		return;
	}
	begin_anew(s, out);
	s->waiting = false;
	look_at_all(s, out, last, last || until_ns < live_ns ? until_ns : live_ns);
	fflush(out);
	s->moved = moved;
	s->next_ns = proc_now_ns() + EACH_MS * MS + SHARE * (proc_now_ns() - now_ns);
}
