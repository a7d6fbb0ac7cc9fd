// SPDX-License-Identifier: MIT
//
// ctp-run writes what it finds out into witness.jsonl at once (spec/trace.md). That file is
// found among its descriptors, whatever its name and folder. A line is about one coroutine at
// one number of changes: once the coroutine has gone on, the line no longer applies. It is not
// a verdict: ctp-analyze, which has the whole run, decides that.
#include "ps/watch/watch_proofs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/json.h"
#include "ctp/proof.h"
#include "ctp/rules.h"

enum { FILES = 16, LINE_MAX_BYTES = 1 << 20, PIECE = 64 };

struct file {
	int fd;
	uint64_t ino, off;
	char *line; // the beginning of one that has not come to its end
	size_t n, capacity;
};

struct watch_proofs {
	const struct found *found;
	struct file files[FILES];
	size_t nfiles;
	struct watch_proof *v;
	size_t n, capacity;
	struct idmap last;  // coroutines to their newest
	struct idmap ended; // descriptors that ended under a waiter: number and generation, to `closes`
	struct watch_ended *closes;
	size_t ncloses, closes_capacity;
};

int watch_proofs_new(struct watch_proofs **out, const struct found *f)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->found = f;
	return 0;
}

void watch_proofs_free(struct watch_proofs *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->nfiles; i++) {
		close(p->files[i].fd);
		free(p->files[i].line);
	}
	for (size_t i = 0; i < p->n; i++)
		free(p->v[i].lines);
	free(p->v);
	free(p->closes);
	idmap_deinit(&p->last);
	idmap_deinit(&p->ended);
	free(p);
}

// Those of the obligations that were answered with `answer`: the set of proof_bit().
static unsigned answered(const json_t *evidence, bool answer)
{
	size_t i;
	json_t *e;
	unsigned set = 0;
	json_array_foreach(evidence, i, e)
	{
		const json_t *holds = json_object_get(e, "holds");
		enum proof p = proof_find(json_string_value(json_object_get(e, "id")));
		if (p < PROOFS && (answer ? json_is_true(holds) : json_is_false(holds)))
			set |= proof_bit(p);
	}
	return set;
}

// What was shown stays shown, though a later inspection did not see all of it again (trace/witness.c),
// unless it saw the contrary of what can turn.
static bool supersedes(const struct watch_proof *now, const struct watch_proof *was, const json_t *evidence)
{
	const unsigned turns = proof_bit(PROOF_P0) | proof_bit(PROOF_P2) | proof_bit(PROOF_P3);
	return !was->shown || now->shown || answered(evidence, false) & turns;
}

static char *describe(const json_t *evidence)
{
	char *text = NULL;
	size_t bytes, i;
	json_t *e;
	FILE *to = open_memstream(&text, &bytes);
	if (!to)
		return NULL;
	json_array_foreach(evidence, i, e)
	{
		const json_t *h = json_object_get(e, "holds");
		const char *id = json_string_value(json_object_get(e, "id")),
			   *says = json_string_value(json_object_get(e, "text"));
		fprintf(to, "%c%-4s %s\n",
			json_is_true(h)  ? '+' :
			json_is_false(h) ? '-' :
					   '?',
			id ?: "", says ?: "");
	}
	fclose(to);
	for (char *at = text; at && *at; at++)
		if (((unsigned char)*at < 0x20 && *at != '\n') || *at == 0x7f)
			*at = '?';
	return text;
}

static int add(struct watch_proofs *p, const json_t *o)
{
	const json_t *id = json_object_get(o, "coroutine"), *changes = json_object_get(o, "changes");
	const json_t *evidence = json_object_get(o, "evidence");
	const char *rule = json_string_value(json_object_get(o, "rule")) ?: rules_id[RULE_LOST_WAKEUP];
	const char *kind = json_string_value(json_object_get(o, "fd_kind")),
		   *name = json_string_value(json_object_get(o, "fd_name"));
	if (!json_is_integer(id) || !json_is_integer(changes) || !json_is_array(evidence))
		return 0;
	uint64_t who = (uint64_t)json_integer_value(id);
	if (GROW(p->v, p->n, p->capacity))
		return -ENOMEM;
	struct watch_proof *v = &p->v[p->n];
	*v = (struct watch_proof){.coroutine = who,
				  .changes = (uint64_t)json_integer_value(changes),
				  .ns = (uint64_t)json_integer_value(json_object_get(o, "ns")),
				  .older = idmap_get(&p->last, who),
				  .lines = describe(evidence)};
	snprintf(v->rule, sizeof(v->rule), "%s", rule);
	snprintf(v->what, sizeof(v->what), "fd %d#%d (%s%s%s)",
		 (int)json_integer_value(json_object_get(o, "fd")),
		 (int)json_integer_value(json_object_get(o, "gen")), kind ?: "?", name && *name ? " " : "",
		 name ?: "");
	find_clean(v->what);
	v->shown = proof_witnessed(answered(evidence, true));
	struct watch_proof *was = v->older == IDMAP_NONE ? NULL : &p->v[v->older];
	if (v->lines && was && was->changes == v->changes && !strcmp(was->rule, v->rule) &&
	    !strcmp(was->what, v->what)) {
		bool better = supersedes(v, was, evidence);
		v->older = was->older;
		free(better ? was->lines : v->lines);
		if (better)
			*was = *v;
		return 0;
	}
	int e = v->lines ? idmap_set(&p->last, who, (uint32_t)p->n) : -ENOMEM;
	if (e)
		free(v->lines);
	else
		p->n++;
	return e;
}

static int take_line(struct watch_proofs *p, const char *line, size_t n)
{
	json_t *o = json_loadb(line, n, 0, NULL);
	int e = json_is_object(o) ? add(p, o) : 0;
	json_decref(o);
	return e;
}

static int take_text(struct watch_proofs *p, struct file *f, const char *text, size_t n)
{
	int e = 0;
	for (size_t i = 0; !e && i < n; i++) {
		if (text[i] == '\n') {
			e = take_line(p, f->line, f->n);
			f->n = 0;
		} else if (f->n < LINE_MAX_BYTES) {
			e = GROW(f->line, f->n, f->capacity);
			if (!e)
				f->line[f->n++] = text[i];
		}
	}
	return e;
}

static int follow(struct watch_proofs *p, struct file *f)
{
	char text[16384];
	ssize_t n;
	int e = 0;
	while (!e && (n = pread(f->fd, text, sizeof(text), (off_t)f->off)) > 0) {
		f->off += (uint64_t)n;
		e = take_text(p, f, text, (size_t)n);
	}
	return e;
}

static bool known(const struct watch_proofs *p, uint64_t ino)
{
	for (size_t i = 0; i < p->nfiles; i++)
		if (p->files[i].ino == ino)
			return true;
	return false;
}

// Whatever ctp-run has open and is called so. It may trace several processes: ids are theirs alone.
static void find_files(struct watch_proofs *p)
{
	char path[300], link[4096];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)p->found->engine);
	DIR *d = p->found->engine > 0 ? opendir(path) : NULL;
	for (struct dirent *e; d && p->nfiles < FILES && (e = readdir(d));) {
		if (!isdigit((unsigned char)*e->d_name))
			continue;
		ssize_t n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);
		link[n > 0 ? n : 0] = 0;
		if (!strstr(link, "/witness.jsonl") || fstatat(dirfd(d), e->d_name, &st, 0) ||
		    !S_ISREG(st.st_mode) || known(p, st.st_ino))
			continue;
		int fd = openat(dirfd(d), e->d_name, O_RDONLY | O_CLOEXEC);
		if (fd >= 0)
			p->files[p->nfiles++] = (struct file){.fd = fd, .ino = st.st_ino};
	}
	if (d)
		closedir(d);
}

int watch_proofs_read(struct watch_proofs *p)
{
	int e = 0;
	find_files(p);
	for (size_t i = 0; !e && i < p->nfiles; i++)
		e = follow(p, &p->files[i]);
	return e;
}

bool watch_proofs_any(const struct watch_proofs *p)
{
	return p->nfiles > 0;
}

const struct watch_proof *watch_proofs_of(const struct watch_proofs *p, uint64_t coroutine, uint64_t changes)
{
	const struct watch_proof *best = NULL;
	for (uint32_t at = idmap_get(&p->last, coroutine); at != IDMAP_NONE; at = p->v[at].older)
		if (p->v[at].changes == changes && (!best || (p->v[at].shown && !best->shown)))
			best = &p->v[at];
	return best;
}

static uint64_t key(int32_t fd, uint32_t gen)
{
	return (uint64_t)(uint32_t)fd << 32 | gen;
}

// Without memory it counts as open until the next inspection.
static void add_ended(struct watch_proofs *p, const struct clock_pairs *clock, const struct ctp_cand *c)
{
	if (GROW(p->closes, p->ncloses, p->closes_capacity) ||
	    idmap_set(&p->ended, key(c->fd, c->gen), (uint32_t)p->ncloses))
		return;
	p->closes[p->ncloses++] = (struct watch_ended){
		.ns = clock_to_ns(clock, c->time), .closer = c->closer, .stack = c->closer_stack};
}

// What the guest has posted and ctp-run not yet put away.
static void read_ended(struct watch_proofs *p, uint32_t cands)
{
	const struct ctp_ext *x = &p->found->header.ext;
	struct ctp_cand rows[PIECE];
	uint64_t n = cands < x->cands_max ? cands : x->cands_max;
	struct clock_pairs clock;
	clock_adopt(&clock, x->clock_kind == CTP_CLOCK_TSC, x->clock_ticks0, x->clock_ns0);
	idmap_deinit(&p->ended);
	p->ncloses = 0;
	for (uint64_t at = 0; at < n; at += PIECE) {
		uint64_t some = n - at < PIECE ? n - at : PIECE;
		if (source_read(&p->found->region, x->cands_off + at * sizeof(*rows), rows,
				some * sizeof(*rows)))
			return;
		for (uint64_t i = 0; i < some; i++)
			if (rows[i].ready == CTP_CAND_READY && rows[i].kind == CTP_CAND_CLOSE)
				add_ended(p, &clock, &rows[i]);
	}
}

const struct watch_ended *watch_proofs_ended(const struct watch_proofs *p, int32_t fd, uint32_t gen)
{
	uint32_t at = idmap_get(&p->ended, key(fd, gen));
	return at == IDMAP_NONE ? NULL : &p->closes[at];
}

static bool waits_for_ended(const struct watch_proofs *p, const struct coroutine *c)
{
	bool all = c->nwaits > 0;
	for (unsigned i = 0; all && i < c->nwaits; i++)
		all = idmap_get(&p->ended, key(c->waits[i].fd, c->waits[i].gen)) != IDMAP_NONE;
	return all;
}

static void count(struct watch_count *v, size_t *n, size_t max, const struct watch_proof *f)
{
	size_t i = 0;
	while (i < *n && strcmp(v[i].rule, f->rule))
		i++;
	if (i == max)
		return;
	if (i == *n) {
		v[(*n)++] = (struct watch_count){.n = 0};
		snprintf(v[i].rule, sizeof(v[i].rule), "%s", f->rule);
	}
	v[i].n++;
	v[i].shown += f->shown;
}

size_t watch_proofs_mark(struct watch_proofs *p, struct watch_model *m, uint32_t cands,
			 struct watch_count *out, size_t max)
{
	size_t n = 0;
	read_ended(p, cands);
	m->closed = 0;
	for (size_t i = 0; i < m->n; i++) {
		struct watch_row *r = &m->rows[i];
		r->finding = false;
		if (!r->there || r->c.life != CTP_SUSPENDED)
			continue;
		r->closed = p->ended.n && waits_for_ended(p, &r->c);
		m->closed += r->closed;
		const struct watch_proof *f = p->n ? watch_proofs_of(p, r->c.id, r->c.changes) : NULL;
		r->finding = f != NULL;
		if (f)
			count(out, &n, max, f);
	}
	return n;
}
