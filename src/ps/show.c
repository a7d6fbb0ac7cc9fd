// SPDX-License-Identifier: MIT
//
// The tables of a traced program are read; what no table knows (C++20 coroutines, a program that was never
// traced or to which ctp-run attached) is found by a search through its memory.
#include "ps/show.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "ps/errors.h"
#include "ps/listing/search_rows.h"
#include "ps/listing/stackless_rows.h"
#include "ps/print/births.h"
#include "search/mark/scan.h"

// Distinguishes a process that ended midway from one that cannot be read.
static int why_not(const struct found *f, int e)
{
	struct found now;
	int again = e == -ENOMEM ? 0 : find_process(f->pid, &now);
	if (again == FIND_NO_PROCESS || again == FIND_NOT_TRACED)
		return FIND_NO_PROCESS;
	if (!again && e != -ENOMEM)
		find_release(&now);
	return e;
}

// Its C++20 coroutines, which no table knows: those that the program tells of are left out. 0; else they
// cannot be told.
static int stackless_of(const struct settings *o, const struct found *f, const struct tables *t,
			struct listing *l)
{
	const struct ctp_ext *x = &f->header.ext;
	struct span *known = calloc(t->n + 3, sizeof(*known));
	if (!known)
		return -ENOMEM;
	known[0] = (struct span){x->region_base, x->region_base + x->region_bytes};
	known[1] = (struct span){x->areas_base, x->areas_base + x->areas_bytes};
	known[2] = (struct span){x->self_base, x->self_end};
	size_t n = 3;
	for (size_t i = 0; i < t->n; i++)
		if (t->coroutines[i].announced)
			known[n++] = (struct span){t->coroutines[i].lo, t->coroutines[i].hi};
	n = spans_tidy(known, n);
	int e = stackless_listing(l, f->pid, f->core ? f->core_path : NULL, known, n, o->all || o->nids);
	free(known);
	return e;
}

// What no table knows: its C++20 coroutines; and if ctp-run has attached to it, those that have not run
// since. As stackless_of.
static int unlisted_of(const struct settings *o, const struct found *f, const struct tables *t,
		       struct listing *l)
{
	struct known known;
	const char *why;
	if (f->core || !(f->header.ext.options & CTP_OPT_ATTACH))
		return stackless_of(o, f, t, l);
	int e = known_read(&known, f);
	if (e)
		return e;
	const struct search_source from = {.pid = f->pid, .known = &known};
	e = search_rows(l, &from, o->all || o->nids, &why);
	known_deinit(&known);
	return e;
}

static bool is_row(const struct listing *l, uint64_t id)
{
	for (size_t i = 0; l && i < l->n; i++)
		if (l->v[i].id == id)
			return true;
	return false;
}

// What was found, which is then given back. Returns the status.
static int show(const struct settings *o, struct found *f)
{
	const struct report_wants wants = {.all = o->all,
					   .whole = o->stack,
					   .tree = o->tree,
					   .why = o->why,
					   .ids = o->ids,
					   .nids = o->nids};
	struct report r;
	struct listing unlisted;
	int e = report_make(&r, f, &wants);
	int status = 0;
	if (e)
		status = f->core ? errors_say_core(f->core_path, e, NULL) :
				   errors_say(o, f->pid, why_not(f, e));
	if (!e) {
		bool any = !unlisted_of(o, f, &r.tables, &unlisted);
		r.unlisted = any && unlisted.n ? &unlisted : NULL;
		if (r.unlisted)
			births_add(&unlisted, &r);
		if (r.missing && is_row(r.unlisted, r.missing))
			r.missing = 0;
		if (!o->nids || r.groups.n || r.unlisted)
			status = errors_flush(o->json ? json_write(stdout, &r) :
							text_write(stdout, &r, color_wanted(o->color, 1)));
		status = status ? status : errors_say_missing(o, &r);
		report_deinit(&r);
		if (any)
			listing_deinit(&unlisted);
	}
	find_release(f);
	return status;
}

// What no table tells: found by search. Returns the status.
static int write_listing(const struct settings *o, const struct listing *l)
{
	const struct listing_wants wants = {.all = o->all,
					    .whole = o->stack,
					    .tree = o->tree,
					    .why = o->why,
					    .ids = o->ids,
					    .nids = o->nids};
	for (size_t i = 0; i < o->nids; i++) {
		size_t k = 0;
		while (k < l->n && l->v[k].id != o->ids[i])
			k++;
		if (k < l->n)
			continue;
		fprintf(stderr,
			"ctp-ps: no coroutine 0x%" PRIx64
			" was found; ids are those of one listing: list again without them\n",
			o->ids[i]);
		return errors_nothing(o);
	}
	int status = errors_flush(o->json ? listing_json(stdout, l, &wants) :
					    listing_text(stdout, l, &wants, color_wanted(o->color, 1)));
	if (status || !o->lost)
		return status;
	return l->undecided ? EXIT_UNDECIDED : l->n ? EXIT_NOTHING : 0;
}

// Dead words keep some coroutines of a core file: that none is lost is not shown by finding none.
static void doubt_core(struct listing *l)
{
	if (l->only_lost && l->core && !l->n && l->all && !l->undecided)
		l->undecided = "a core file also holds stale words, and each of them counts as a reference";
}

static int search_process(const struct settings *o, pid_t pid, const struct known *known)
{
	const struct search_source from = {.pid = pid, .lost = o->lost, .stop = o->stop, .known = known};
	struct listing l;
	const char *why;
	int e = search_rows(&l, &from, o->all || o->nids, &why);
	if (e)
		return errors_say(o, pid, e);
	doubt_core(&l);
	int status = write_listing(o, &l);
	listing_deinit(&l);
	return status;
}

// The core of a traced process has its tables: the analysis says what is lost, with proof.
static int say_traced_core(struct found *f)
{
	fprintf(stderr, "ctp-ps: %s: --lost is for programs that were not traced; see ctp-analyze %s\n",
		f->core_path, f->core_path);
	find_release(f);
	return EXIT_UNDECIDED;
}

// The tables do not tell what leads where, and those of one that ctp-run has attached to lack what has not
// run since: a search has all. ctp's own memory in it does not count.
static int search_traced(const struct settings *o, struct found *f)
{
	struct known known;
	int e = known_read(&known, f);
	int status = e ? errors_say(o, f->pid, why_not(f, e)) : search_process(o, f->pid, &known);
	if (!e)
		known_deinit(&known);
	find_release(f);
	return status;
}

int show_process(const struct settings *o, pid_t pid)
{
	struct found f;
	int e = find_process(pid, &f);
	if (e == FIND_NOT_TRACED)
		return search_process(o, find_whole(pid), NULL);
	if (!e && o->lost)
		return search_traced(o, &f);
	return e ? errors_say(o, pid, e) : show(o, &f);
}

int show_core(const struct settings *o, const char *path)
{
	struct found f;
	struct listing l;
	const char *why = NULL, *searched;
	const struct search_source from = {.core = path, .saved = o->saved, .lost = o->lost};
	int e = find_core(path, &f, &why);
	if (!e)
		return o->lost ? say_traced_core(&f) : show(o, &f);
	if (e != -EPROTO || !why)
		return errors_say_core(path, e, why);
	e = search_rows(&l, &from, o->all || o->nids, &searched);
	if (e)
		return errors_say_core(path, e, e == -EPROTO && searched ? searched : why);
	doubt_core(&l);
	int status = write_listing(o, &l);
	listing_deinit(&l);
	return status;
}
