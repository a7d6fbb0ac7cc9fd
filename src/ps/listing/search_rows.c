// SPDX-License-Identifier: MIT
//
// What src/find has found becomes rows: with words for the evidence, and with the descriptors whose
// registrations lead there.
#include "ps/listing/search_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/calls.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/grow.h"
#include "ps/listing/fd_names.h"
#include "ps/listing/search_waits.h"

#define SEARCH_NS 30000000000ULL // at most; what was found by then is listed

// -------------------------------------------------------------------- evidence

static const char *switch_name(struct listing *l, const struct context *x, char *buf, size_t bytes)
{
	static const char *const named[] = {[SITE_SWAPCONTEXT] = "swapcontext",
					    [SITE_GETCONTEXT] = "getcontext",
					    [SITE_SETJMP] = "setjmp"};
	const struct symbols_frame *f = x->function ? frames_entry(l->symbols, x->function) : NULL;
	if (x->how != SITE_ASSEMBLY)
		snprintf(buf, bytes, "%s", named[x->how]);
	else if (f && f->symbol)
		frames_name(f, buf, bytes);
	else if (f && f->module)
		snprintf(buf, bytes, "a switch in %s, learned from its code", file_base(f->module));
	else
		snprintf(buf, bytes, "a switch, learned from its code");
	return buf;
}

static const char *kind_name(enum shape_kind k)
{
	return k == SHAPE_UCONTEXT ? "a ucontext_t" :
	       k == SHAPE_JMPBUF   ? "a jmp_buf" :
				     "a context as assembly code saves it";
}

static void say(struct listing *l, struct listing_row *r, size_t *n, const char *text)
{
	const char *word = *n + 1 < LISTING_EVIDENCE ? listing_word(l, text) : NULL;
	if (word)
		r->evidence[(*n)++] = word;
}

static void evidence(struct listing *l, const struct context *x, struct listing_row *r)
{
	char name[96], text[192];
	size_t n = 0;
	unsigned e = x->evidence;
	snprintf(text, sizeof(text), "context: %s", kind_name(x->kind));
	if (!(e & CONTEXT_THREAD_INSIDE) || (e & CONTEXT_DECLARED))
		say(l, r, &n, text);
	if (e & CONTEXT_BEHIND_SWITCH) {
		snprintf(text, sizeof(text), "its return address lies behind a call of %s",
			 switch_name(l, x, name, sizeof(name)));
		say(l, r, &n, text);
	}
	if (e & CONTEXT_TOP_HOLDS)
		say(l, r, &n, "that address stands on its stack, where the call put it");
	if (e & CONTEXT_HELD)
		say(l, r, &n, "a word outside of its stack holds its stack pointer");
	if (e & CONTEXT_CHAIN_HOLDS)
		say(l, r, &n, "each of its frames was called by the next one");
	if (e & CONTEXT_BEGINS)
		say(l, r, &n, "its stack begins where makecontext lets it begin");
	if (e & CONTEXT_NEVER_RAN)
		say(l, r, &n, "nothing has run on its stack yet");
	if (e & CONTEXT_THREAD_INSIDE)
		say(l, r, &n, "a thread's stack pointer lies in its stack");
}

static const char *how(struct listing *l, const struct context *x)
{
	char name[96], text[128];
	if (x->state == CONTEXT_RUNNING)
		return "a thread is on its stack";
	if (x->state == CONTEXT_CREATED && x->kind == SHAPE_UCONTEXT)
		return "made by makecontext";
	snprintf(text, sizeof(text), "behind %s", switch_name(l, x, name, sizeof(name)));
	return listing_word(l, text);
}

static int add_row(struct listing *l, const struct contexts *c, const struct context *x)
{
	struct listing_row r = {.id = x->id, .entry = x->entry, .tid = x->tid};
	r.state = x->state == CONTEXT_CREATED ? LISTING_CREATED :
		  x->state == CONTEXT_RUNNING ? LISTING_RUNNING :
						LISTING_SUSPENDED;
	r.guessed = x->evidence & CONTEXT_GUESSED;
	if (x->state == CONTEXT_SUSPENDED) {
		size_t n = x->npcs;
		while (n > 1 && sites_is_start(&c->sites, c->pcs[x->pcs + n - 1]))
			n--;
		r.stack = listing_stack(l, c->pcs + x->pcs, n);
	}
	r.source = "search";
	r.how = how(l, x);
	evidence(l, x, &r);
	return listing_add(l, &r);
}

// --------------------------------------------------------------------- threads

static char thread_state(pid_t pid, int tid)
{
	char path[64], text[512];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, tid);
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	if (f)
		fclose(f);
	text[n] = 0;
	char *end = strrchr(text, ')');
	return end && end[1] == ' ' ? end[2] : 0;
}

static int add_thread(struct listing *l, const struct contexts *c, const struct image_thread *t)
{
	struct listing_thread one = {.tid = t->tid};
	int e = GROW(l->threads, l->nthreads, l->threads_capacity);
	if (!l->core)
		one.state = thread_state(l->pid, t->tid);
	if (t->on_cpu)
		snprintf(one.call, sizeof(one.call), "on a CPU");
	else if (t->nr >= 0)
		calls_name(t->nr, one.call, sizeof(one.call));
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].state == CONTEXT_RUNNING && c->v[i].tid == t->tid)
			one.running = c->v[i].id;
	if (!e)
		l->threads[l->nthreads++] = one;
	return e;
}

// ---------------------------------------------------------------------- symbols

static void find_root(struct listing *l)
{
	char path[40];
	struct stat mine, its;
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)l->pid);
	if (!l->core && !stat("/proc/self/ns/mnt", &mine) && !stat(path, &its) && mine.st_ino != its.st_ino)
		snprintf(l->root, sizeof(l->root), "/proc/%d/root", (int)l->pid);
}

static int make_symbols(struct listing *l, const struct contexts *c)
{
	size_t n = 0;
	struct symbols_module *all = calloc(c->objects.n + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < c->objects.n; i++) {
		const struct object *o = &c->objects.v[i];
		const char *path = *o->path == '/' ? listing_word(l, o->path) : NULL;
		const void *id = o->build_id_len ? listing_bytes(l, o->build_id, o->build_id_len) : NULL;
		if (path)
			all[n++] = (struct symbols_module){.path = path,
							   .base = o->bias,
							   .start = o->lo,
							   .end = o->hi,
							   .build_id = id,
							   .build_id_len = id ? o->build_id_len : 0};
	}
	find_root(l);
	int e = symbols_new(&l->symbols, all, n, *l->root ? l->root : NULL);
	free(all);
	return e;
}

// ------------------------------------------------------------------------- all

static int read_fds(struct listing *l, const struct search_source *from)
{
	char folder[32];
	snprintf(folder, sizeof(folder), "/proc/%d", (int)from->pid);
	const char *where = from->core ? from->saved : folder;
	int e = where ? listing_fds_read(&l->fds, where) : 0;
	return e == -ENOMEM ? e : 0; // else they are not known
}

static int fill(struct listing *l, const struct search_source *from, const struct contexts *c)
{
	int e = make_symbols(l, c);
	l->bytes = c->bytes;
	l->finished = c->finished;
	l->freed = c->freed;
	l->unsettled = c->unsettled;
	l->on_cpu = c->on_cpu;
	memcpy(l->partial, c->partial, sizeof(l->partial));
	for (size_t i = 0; !e && i < c->n; i++)
		e = add_row(l, c, &c->v[i]);
	for (size_t i = 0; !e && i < c->image->nthreads; i++)
		e = add_thread(l, c, &c->image->threads[i]);
	if (!e)
		e = read_fds(l, from);
	if (!e && l->fds)
		e = search_waits(l, c);
	return e;
}

int search_rows(struct listing *l, const struct search_source *from, bool apart, const char **why)
{
	struct image im;
	struct contexts c;
	uint64_t deadline = clock_mono_ns() + SEARCH_NS;
	*l = (struct listing){.core = from->core, .pid = from->pid};
	int e = from->core ? image_of_core(&im, from->core, deadline) :
			     image_of_process(&im, from->pid, deadline);
	*why = e ? im.why : NULL;
	if (e)
		return e;
	l->pid = im.pid;
	e = contexts_find(&c, &im);
	if (!e) {
		e = fill(l, from, &c);
		contexts_deinit(&c);
	}
	image_close(&im);
	if (!e)
		e = listing_finish(l, apart);
	if (e)
		listing_deinit(l);
	return e;
}
