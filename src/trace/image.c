// SPDX-License-Identifier: MIT
//
// Indexes the last tables of one program image by id, by number and by generation.
// Nothing in a table is trusted: rows are found through these indexes only, and a
// stack's offset and length are bounded at each use.
#include "trace/image.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "trace/image_waits.h"
#include "trace/manifest.h"

// Notes the first file that is not read because of what it is, so that the rest can be read. Returns `e`, or
// 0 if that was it.
static int note_refused(struct image *m, const char *name, int e)
{
	if (!file_refused(e))
		return e;
	if (!m->refused &&
	    asprintf(&m->refused, "ctp/image%u/%s is not read: %s", m->index, name, file_why(e)) < 0)
		return -ENOMEM;
	return 0;
}

// The same for a table, without which the others say too little.
static int refuse(struct image *m, const char *name, int e)
{
	int r = note_refused(m, name, e);
	return r ? r : -EPROTO;
}

// What a verdict speaks of is as it was at the snapshot, where one was taken
// before the program was told to end; names and stacks are the last ones.
static int open_tables(struct image *m, int dir, int snapshot)
{
	const struct {
		struct table *table;
		const char *name;
		size_t bytes;
		bool indexed, shot, optional;
	} all[] = {
		{&m->ext_table, "ext", CTP_EXT_BYTES_READ, false, true},
		{&m->stations, "stations", sizeof(struct ctp_state), true, true},
		{&m->threads, "threads", sizeof(struct ctp_thread), true, true},
		{&m->fds, "fds", sizeof(struct ctp_fd), true, true},
		{&m->cands, "cands", sizeof(struct ctp_cand), true, true},
		{&m->modules, "modules", sizeof(struct ctp_module), false, false},
		{&m->stack_index, "stack_index", sizeof(uint32_t), false, false},
		{&m->stack_words, "stack_words", sizeof(uint64_t), false, false},
		{&m->incidents, "incidents", sizeof(struct ctp_incident), true, true, true},
		{&m->sites, "sites", sizeof(struct ctp_site), false, true, true},
		{&m->names, "names", sizeof(struct ctp_name), true, true, true},
	};
	struct table probe = {0};
	bool shot = snapshot >= 0 &&
		    table_open(&probe, snapshot, "stations", sizeof(struct ctp_state), true) != -ENOENT;
	table_close(&probe);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		int r = table_open(all[i].table, shot && all[i].shot ? snapshot : dir, all[i].name,
				   all[i].bytes, all[i].indexed);
		if (r && !(r == -ENOENT && all[i].optional))
			return refuse(m, all[i].name, r);
	}
	int later = shot ? table_open(&m->later, dir, "stations", sizeof(struct ctp_state), true) : 0;
	if (later && later != -ENOENT)
		return later;
	if (!m->ext_table.n)
		return -EPROTO;
	size_t bytes = m->ext_table.row_bytes; // what an older layout has not stays 0
	memcpy(&m->ext, table_row(&m->ext_table, 0), bytes < sizeof(m->ext) ? bytes : sizeof(m->ext));
	struct table last = {0};
	if (shot && !table_open(&last, dir, "ext", CTP_EXT_BYTES_READ, false) && last.n) // it died after that
		m->ext.crash = ((const struct ctp_ext *)table_row(&last, 0))->crash;
	table_close(&last);
	return 0;
}

// The layout of its tables, where that is not ours; else 0. It stands at the same place in all.
static uint32_t other_layout(int dir)
{
	const struct {
		uint64_t magic;
		uint32_t version, bytes;
	} * ext;
	struct table t = {0};
	uint32_t layout = 0;
	if (!table_open(&t, dir, "ext", sizeof(*ext), false) && t.n) {
		ext = table_row(&t, 0);
		if (ext->magic == CTP_EXT_MAGIC && !ctp_version_read(ext->version))
			layout = ext->version;
	}
	table_close(&t);
	return layout;
}

static void close_tables(struct image *m)
{
	struct table *all[] = {&m->stations,  &m->threads,     &m->fds,         &m->cands,
			       &m->modules,   &m->stack_index, &m->stack_words, &m->ext_table,
			       &m->incidents, &m->sites,       &m->names,       &m->later};
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		table_close(all[i]);
}

static int index_tables(struct image *m)
{
	int r = 0;
	for (size_t i = 0; !r && i < m->stations.n; i++)
		if (image_state(m, i)->id)
			r = idmap_set(&m->by_id, image_state(m, i)->id, (uint32_t)i);
	for (size_t i = 0; !r && i < m->later.n; i++)
		r = idmap_set(&m->later_by_id, ((const struct ctp_state *)table_row(&m->later, i))->id,
			      (uint32_t)i);
	for (size_t i = 0; !r && i < m->names.n; i++)
		r = idmap_set(&m->by_name, ((const struct ctp_name *)table_row(&m->names, i))->id,
			      (uint32_t)i);
	for (size_t i = 0; !r && i < m->fds.n; i++)
		r = idmap_set(&m->by_fd, table_index(&m->fds, i), (uint32_t)i);
	for (size_t i = 0; !r && i < m->cands.n; i++) {
		const struct ctp_cand *c = image_cand(m, i);
		if (c->kind == CTP_CAND_CLOSE)
			r = idmap_set(&m->closes, image_key(c->fd, c->gen), (uint32_t)i);
		else if (c->kind == CTP_CAND_DEL)
			r = idmap_set(&m->dels, image_key(c->fd, c->gen), (uint32_t)i);
		else if (c->kind == CTP_CAND_SET)
			r = idmap_set(&m->sets, image_key(c->fd, c->gen), (uint32_t)i);
	}
	return r;
}

// Epoll sets that ended, and are not open under another number.
static int index_sets(struct image *m)
{
	struct idmap open = {0};
	int r = 0;
	for (size_t i = 0; !r && m->sets.n && i < m->fds.n; i++) {
		const struct ctp_fd *f = table_row(&m->fds, i);
		if (f->life == CTP_FD_OPEN && f->kind == CTP_FD_EPOLL && f->desc)
			r = idmap_set(&open, f->desc, (uint32_t)i);
	}
	for (size_t i = 0; !r && m->sets.n && i < m->cands.n; i++) {
		const struct ctp_cand *c = image_cand(m, i);
		if (c->kind == CTP_CAND_SET && (!c->was.desc || idmap_get(&open, c->was.desc) == IDMAP_NONE))
			r = idmap_set(&m->dead_sets, image_key(c->fd, c->gen), (uint32_t)i);
	}
	idmap_deinit(&open);
	return r;
}

static void count_all(struct image *m)
{
	for (size_t i = 0; i < m->stations.n; i++) {
		const struct ctp_state *s = image_state(m, i);
		if (s->entity != CTP_COROUTINE)
			continue;
		if (s->life == CTP_CREATED)
			m->counts.created++;
		else if (s->life == CTP_SUSPENDED)
			image_waits_count(m, i);
		else if (s->life == CTP_RUNNING)
			m->counts.running++;
	}
	m->counts.lost = m->ext.lost_unslotted;
	for (size_t i = 0; i < m->threads.n; i++) {
		const struct ctp_thread *t = table_row(&m->threads, i);
		m->counts.finished += t->finished;
		m->counts.destroyed += t->destroyed;
		m->counts.switches += t->switches;
		m->counts.lost += t->lost;
		m->counts.hand += t->hand;
		m->counts.reused += t->reused;
		m->counts.unknown += t->unknown;
	}
}

static int still_so(void *arg, uint64_t coroutine, uint64_t changes)
{
	const struct ctp_state *s = image_entity(arg, coroutine);
	return !s ? 0 : s->changes == changes ? 1 : s->changes > changes ? -1 : 0;
}

bool image_suspended(const struct image *m, const struct ctp_state *s)
{
	uint64_t exit = m->ext.exit_begun, taken = m->ext.signal_taken;
	uint64_t ending = !exit || (taken && taken < exit) ? taken : exit;
	return s->entity == CTP_COROUTINE &&
	       (s->life == CTP_SUSPENDED || (s->life == CTP_DESTROYED && ending && s->since >= ending));
}

// One that is not there any more has ended, after which its station became another's.
bool image_ran_since(const struct image *m, const struct ctp_state *s)
{
	uint32_t row = m->later.n ? idmap_get(&m->later_by_id, s->id) : IDMAP_NONE;
	if (!m->later.n)
		return false;
	const struct ctp_state *now = row == IDMAP_NONE ? NULL : table_row(&m->later, row);
	return !now || now->changes != s->changes;
}

int image_index(struct image *m)
{
	m->has_tables = true;
	int r = index_tables(m);
	if (!r)
		r = index_sets(m);
	if (!r)
		r = image_waits_index(m);
	if (!r)
		count_all(m);
	return r;
}

// The lines that the engine wrote beside the tables.
static int read_lines(struct image *m, int dir)
{
	int r = note_refused(m, "witness.jsonl",
			     witness_read(&m->witness, dir, "witness.jsonl", still_so, m));
	if (!r)
		r = note_refused(m, "sets.jsonl",
				 set_looks_read(&m->set_looks, &m->slices, dir, "sets.jsonl"));
	if (!r)
		r = note_refused(m, "stackless.jsonl",
				 stackless_looks_read(&m->stackless, &m->slices, dir, "stackless.jsonl"));
	if (!r)
		r = note_refused(m, "descriptors.jsonl",
				 descriptors_read(&m->descriptors, dir, "descriptors.jsonl"));
	if (!r)
		r = note_refused(m, "slices.jsonl", slices_read(&m->slices, dir, "slices.jsonl"));
	if (!r)
		r = note_refused(m, "highwater.jsonl", slices_read(&m->slices, dir, "highwater.jsonl"));
	if (!r)
		r = note_refused(m, "scripts.jsonl", script_frames_read(m, dir, "scripts.jsonl"));
	return r;
}

// When it ended by one of them: its exit began, or it has raised the signal once more, to die of it. 0: it
// did not.
static uint64_t ended_by_asked(const struct image *m, const struct manifest *clock)
{
	bool died = m->ended_signal == SIGHUP || m->ended_signal == SIGINT || m->ended_signal == SIGQUIT;
	return m->ext.exit_begun ? manifest_ns(clock, m->ext.exit_begun) : died ? m->snapshot_ns : 0;
}

void image_settle_end(struct image *m, const struct manifest *clock)
{
	const uint64_t asked[] = {m->ext.asked_first, m->ext.asked_last};
	uint64_t ns = ended_by_asked(m, clock), term = m->ext.signal_taken;
	// What it has taken was HUP alone, and it died of something else.
	bool another = !m->ext.exit_begun && !m->ext.asked_first && m->ended_signal != SIGHUP;
	if (!ns || another || (term && manifest_ns(clock, term) < ns) ||
	    (m->term_forwarded_ns && m->term_forwarded_ns < ns))
		return;
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
		uint64_t then = manifest_ns(clock, asked[i]);
		if (asked[i] && then < ns && ns < then + CTP_END_NS) {
			m->ext.signal_taken = asked[i];
			return;
		}
	}
}

uint64_t image_asked(const struct image *m, const struct manifest *clock, uint64_t ns)
{
	uint64_t first = manifest_ns(clock, m->ext.asked_first), last = manifest_ns(clock, m->ext.asked_last);
	return first && ns < first + CTP_END_NS ? first : last && ns < last + CTP_END_NS ? last : 0;
}

static int read_image(struct image *m, int dir, const struct manifest *clock)
{
	int snapshot = file_open_folder(dir, "snapshot", O_NOFOLLOW), r = 0;
	if (file_refused(snapshot))
		r = refuse(m, "snapshot", snapshot);
	m->layout = other_layout(dir);
	if (!r && !m->layout)
		r = open_tables(m, dir, snapshot);
	if (snapshot >= 0)
		close(snapshot);
	if (m->layout || r == -ENOENT || r == -EPROTO) {
		close_tables(m);
		m->damaged = r == -EPROTO;
		return 0;
	}
	if (!r) {
		image_settle_end(m, clock);
		r = image_index(m);
	}
	r = r ? r : read_lines(m, dir);
	if (!r) {
		image_settle_taken(m);
		image_settle_unheard(m, clock);
	}
	return r;
}

int image_open(struct image *m, int folder, const struct manifest *clock)
{
	char name[32];
	struct image got = *m;
	snprintf(name, sizeof(name), "image%u", m->index);
	int dir = file_open_folder(folder, name, O_NOFOLLOW), r;
	if (dir >= 0)
		r = read_image(&got, dir, clock);
	else
		r = dir == -ENOENT ? 0 : note_refused(&got, "", dir);
	got.damaged |= file_refused(dir);
	if (dir >= 0)
		close(dir);
	if (r)
		image_close(&got);
	else
		*m = got;
	return r;
}

void image_close(struct image *m)
{
	if (!m)
		return;
	close_tables(m);
	idmap_deinit(&m->by_id);
	idmap_deinit(&m->later_by_id);
	idmap_deinit(&m->by_name);
	idmap_deinit(&m->by_fd);
	idmap_deinit(&m->closes);
	idmap_deinit(&m->dels);
	idmap_deinit(&m->sets);
	idmap_deinit(&m->dead_sets);
	set_looks_deinit(&m->set_looks);
	stackless_looks_deinit(&m->stackless);
	descriptors_deinit(&m->descriptors);
	idmap_deinit(&m->by_data.head);
	idmap_deinit(&m->by_mind.head);
	free(m->by_data.next);
	free(m->by_mind.next);
	free(m->row_flags);
	witness_deinit(&m->witness);
	slices_deinit(&m->slices);
	script_frames_deinit(&m->scripts);
	free(m->refused);
	memset(m, 0, sizeof(*m));
}

void image_replace(struct image *m)
{
	struct image_counts *c = &m->counts;
	m->replaced = true;
	c->destroyed += c->created + c->suspended + c->running;
	c->created = c->suspended = c->running = c->healthy = c->parked = 0;
}

const struct ctp_crash *image_crash(const struct image *m)
{
	const struct ctp_crash *c = &m->ext.crash;
	bool noted = m->has_tables && !m->replaced && c->ready == 1;
	return noted && (m->ended_signal < 0 || m->ended_signal == c->signal) ? c : NULL;
}
