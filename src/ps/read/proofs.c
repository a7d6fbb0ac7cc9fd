// SPDX-License-Identifier: MIT
//
// ctp-run writes what it finds out into witness.jsonl at once (spec/trace.md). That file is
// found among its descriptors, whatever its name and folder. A line is about one coroutine at
// one number of changes: once the coroutine has gone on, the line no longer applies. It is not
// a verdict: ctp-analyze, which has the whole run, decides that.
#include "ps/read/proofs.h"

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

#include "base/grow.h"
#include "base/idmap.h"
#include "base/json.h"
#include "ctp/proof.h"
#include "ctp/rules.h"
#include "ps/read/find.h"

enum { FILES = 16, LINE_MAX_BYTES = 1 << 20, PIECE = 64 };

struct file {
	int fd;
	uint64_t ino, off;
	char *line; // the beginning of one that has not come to its end
	size_t n, capacity;
};

struct proofs {
	pid_t engine;
	struct file files[FILES];
	size_t nfiles;
	struct proofs_one *v;
	size_t n, capacity;
	struct idmap last; // coroutines to their newest
};

int proofs_new(struct proofs **out, pid_t engine)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->engine = engine;
	return 0;
}

void proofs_free(struct proofs *p)
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
	idmap_deinit(&p->last);
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

// What was shown stays shown, though a later inspection did not see all of it again (trace/looks/witness.c),
// unless it saw the contrary of what can turn.
static bool supersedes(const struct proofs_one *now, const struct proofs_one *was, const json_t *evidence)
{
	const unsigned turns = proof_bit(PROOF_P0) | proof_bit(PROOF_P2) | proof_bit(PROOF_P3);
	return !was->shown || now->shown || answered(evidence, false) & turns;
}

static enum so_far so_far_of(const char *word)
{
	return !word                   ? SO_FAR_OPEN :
	       !strcmp(word, "proven") ? SO_FAR_PROVEN :
	       !strcmp(word, "likely") ? SO_FAR_LIKELY :
					 SO_FAR_OPEN;
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

static int add(struct proofs *p, const json_t *o)
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
	struct proofs_one *v = &p->v[p->n];
	*v = (struct proofs_one){.coroutine = who,
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
	v->so_far = so_far_of(json_string_value(json_object_get(o, "so_far")));
	struct proofs_one *was = v->older == IDMAP_NONE ? NULL : &p->v[v->older];
	if (v->lines && was && was->changes == v->changes && !strcmp(was->rule, v->rule) &&
	    !strcmp(was->what, v->what)) {
		bool better = supersedes(v, was, evidence);
		v->older = was->older;
		free(better ? was->lines : v->lines);
		enum so_far newest = v->so_far; // the last line says how it stands
		if (better)
			*was = *v;
		was->so_far = newest;
		return 0;
	}
	int e = v->lines ? idmap_set(&p->last, who, (uint32_t)p->n) : -ENOMEM;
	if (e)
		free(v->lines);
	else
		p->n++;
	return e;
}

static int take_line(struct proofs *p, const char *line, size_t n)
{
	json_t *o = json_loadb(line, n, 0, NULL);
	int e = json_is_object(o) ? add(p, o) : 0;
	json_decref(o);
	return e;
}

static int take_text(struct proofs *p, struct file *f, const char *text, size_t n)
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

static int follow(struct proofs *p, struct file *f)
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

static bool known(const struct proofs *p, uint64_t ino)
{
	for (size_t i = 0; i < p->nfiles; i++)
		if (p->files[i].ino == ino)
			return true;
	return false;
}

// Whatever ctp-run has open and is called so. It may trace several processes: ids are theirs alone.
static void find_files(struct proofs *p)
{
	char path[300], link[4096];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)p->engine);
	DIR *d = p->engine > 0 ? opendir(path) : NULL;
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

int proofs_read(struct proofs *p)
{
	int e = 0;
	find_files(p);
	for (size_t i = 0; !e && i < p->nfiles; i++)
		e = follow(p, &p->files[i]);
	return e;
}

bool proofs_any(const struct proofs *p)
{
	return p->nfiles > 0;
}

const struct proofs_one *proofs_of(const struct proofs *p, uint64_t coroutine, uint64_t changes)
{
	const struct proofs_one *best = NULL;
	for (uint32_t at = idmap_get(&p->last, coroutine); at != IDMAP_NONE; at = p->v[at].older)
		if (p->v[at].changes == changes && (!best || (p->v[at].shown && !best->shown)))
			best = &p->v[at];
	return best;
}
