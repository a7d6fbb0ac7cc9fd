// SPDX-License-Identifier: MIT
//
// What src/find has found becomes rows: with words for the evidence, and with the descriptors whose
// registrations lead there.
#include "ps/listing/search_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/calls.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/living.h"
#include "find/lost.h"
#include "find/registers.h"
#include "find/save.h"
#include "ps/listing/fd_names.h"
#include "ps/listing/listing_symbols.h"
#include "ps/listing/pooled.h"
#include "ps/listing/search_waits.h"

// At most; what was found by then is listed. On a busy machine the CPU time is what counts.
#define SEARCH_CPU_NS 30000000000ULL
#define SEARCH_NS 120000000000ULL
#define AGAIN_NS 3000000000ULL // the same, if it is to be done again soon

enum { WORDS_EACH = 8, WORDS_LEAST = 1 << 16 }; // texts and registers that are kept, a row

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

static const char *const *evidence(struct listing *l, const struct context *x)
{
	char name[96], text[192];
	struct listing_said s = {.n = 0};
	unsigned e = x->evidence;
	snprintf(text, sizeof(text), "context: %s", kind_name(x->kind));
	if (!(e & CONTEXT_THREAD_INSIDE) || (e & CONTEXT_DECLARED))
		listing_say(l, &s, text);
	if (e & CONTEXT_BEHIND_SWITCH) {
		snprintf(text, sizeof(text), "its return address lies behind a call of %s",
			 switch_name(l, x, name, sizeof(name)));
		listing_say(l, &s, text);
	}
	if (e & CONTEXT_TOP_HOLDS)
		listing_say(l, &s, "that address is on its stack, where the call put it");
	if (e & CONTEXT_HELD)
		listing_say(l, &s, "a word outside of its stack holds its stack pointer");
	if (e & CONTEXT_CHAIN_HOLDS)
		listing_say(l, &s, "each of its frames was called by the next one");
	if (e & CONTEXT_BEGINS)
		listing_say(l, &s, "its stack begins where makecontext lets it begin");
	if (e & CONTEXT_NEVER_RAN)
		listing_say(l, &s, "nothing has run on its stack yet");
	if (e & CONTEXT_THREAD_INSIDE)
		listing_say(l, &s, "a thread's stack pointer lies in its stack");
	return listing_evidence(l, &s);
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
	r.regs = listing_bytes(l, x->regs, sizeof(x->regs));
	r.guessed = x->evidence & CONTEXT_GUESSED;
	if (x->state == CONTEXT_SUSPENDED) {
		size_t n = x->npcs;
		while (n > 1 && sites_is_start(&c->sites, c->pcs[x->pcs + n - 1]))
			n--;
		r.stack = listing_stack(l, c->pcs + x->pcs, n);
	}
	r.source = "search";
	r.how = how(l, x);
	r.evidence = evidence(l, x);
	return r.regs ? listing_add(l, &r) : -ENOMEM;
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

// ------------------------------------------------------------------------- all

static int read_fds(struct listing_fds **fds, const struct search_source *from)
{
	char folder[32];
	snprintf(folder, sizeof(folder), "/proc/%d", (int)living_of(from->pid));
	const char *where = from->core ? from->saved : folder;
	int e = where ? listing_fds_read(fds, where) : 0;
	return e == -ENOMEM ? e : 0; // else they are not known
}

// ------------------------------------------------------------------ two looks

// Those that nothing led to, at the first look.
struct looks {
	struct listing_seen stackful, stackless;
	struct listing_fds *before; // the registrations as this look began; NULL: not known
};

static int note_unreached(struct listing_seen *s, const struct contexts *c, const struct lost *lost)
{
	int e = 0;
	s->known = true;
	for (size_t i = 0; !e && i < c->n; i++)
		if (!lost->reached[i])
			e = listing_seen_add(s, c->v[i].id, c->v[i].regs[CTP_REG_SP]);
	return e;
}

// Of a core nothing can be said without the registrations, which are the kernel's.
static const char *not_decidable(const struct listing *l, const struct image *im)
{
	if (im->core.cut)
		return "the core is cut off: some of its memory is missing";
	if (!l->fds)
		return l->core ?
			       "a core does not have the epoll registrations; ctp-ps --save=DIR PID takes both" :
			       "its epoll registrations cannot be read";
	if (listing_fds_any(l->fds, "anon_inode:[io_uring"))
		return "it uses io_uring, and the kernel does not show which waits that holds";
	return NULL;
}

static size_t add_held(const struct listing_epoll *rows, size_t n, bool all, uint64_t *held)
{
	size_t nheld = 0;
	for (size_t i = 0; i < n; i++)
		if (all || lost_row_leads(rows[i].events))
			held[nheld++] = rows[i].data;
	return nheld;
}

// A one-shot that fires meanwhile leads to whom it wakes, or a busy program's coroutines would seem lost.
// What was saved does not tell whether it fired meanwhile.
static int mark(struct listing *l, const struct contexts *c, const struct listing_fds *before,
		struct lost *out)
{
	enum { TIMERS_MOST = 256 };
	size_t n = 0, nbefore = 0, nheld = 0;
	const struct listing_epoll *rows = listing_fds_rows(l->fds, &n);
	const struct listing_epoll *old = before ? listing_fds_rows(before, &nbefore) : NULL;
	uint64_t *held = calloc(n + nbefore + TIMERS_MOST, sizeof(*held));
	if (!held)
		return -ENOMEM;
	nheld = add_held(old, nbefore, false, held);
	nheld += add_held(rows, n, l->core != NULL, held + nheld);
	if (l->fds)
		nheld += listing_fds_timers(l->fds, held + nheld, TIMERS_MOST);
	int e = lost_mark(out, c, held, nheld);
	free(held);
	if (!e && out->undecided)
		l->undecided = listing_word(l, out->undecided);
	return e;
}

// Only rows that are suspended, and that nothing leads to, now and at the look before.
static void keep_lost(struct listing *l, const struct contexts *c, const struct lost *now,
		      const struct listing_seen *before, const char *why)
{
	size_t kept = 0;
	for (size_t i = 0; i < l->n; i++) {
		bool lost = !now->reached[i] && c->v[i].state == CONTEXT_SUSPENDED;
		if (!lost || !listing_seen_has(before, c->v[i].id, c->v[i].regs[CTP_REG_SP]))
			continue;
		l->v[kept] = l->v[i];
		l->v[kept].lost = true;
		l->v[kept++].lost_why = why;
	}
	l->n = kept;
}

// The rows are c's, in the same order.
static void drop_known(struct listing *l, const struct contexts *c, const struct known *known)
{
	size_t kept = 0;
	for (size_t i = 0; known && i < l->n; i++)
		if (!known_has(known, c->v[i].regs[CTP_REG_SP], c->v[i].tid))
			l->v[kept++] = l->v[i];
	if (known)
		l->n = kept;
}

static int fill(struct listing *l, const struct search_source *from, const struct contexts *c)
{
	int e = l->symbols ? 0 : listing_symbols_make(l, &c->objects);
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
		e = read_fds(&l->fds, from);
	if (!e && l->fds)
		e = search_waits(l, c);
	if (!from->lost)
		drop_known(l, c, from->known);
	return e;
}

static int fill_whole(struct listing *l, const struct search_source *from, const struct contexts *c)
{
	int e = fill(l, from, c);
	return e || from->lost ? e : stackless_rows(l, c->image, c->image->skip, c->image->nskip, NULL);
}

static int look_lost(struct listing *l, const struct search_source *from, const struct contexts *c,
		     struct looks *seen, bool first)
{
	struct lost lost = {0};
	const char *why = from->core || from->stop ? "nothing leads to it" :
						     "nothing leads to it: in two looks, a second apart";
	int e = 0;
	l->only_lost = true;
	l->all = l->n;
	l->undecided = not_decidable(l, c->image);
	if (!l->undecided)
		e = mark(l, c, seen->before, &lost);
	if (l->undecided)
		l->n = 0;
	else if (!e && first)
		e = note_unreached(&seen->stackful, c, &lost);
	else if (!e)
		keep_lost(l, c, &lost, &seen->stackful, why);
	const struct stackless_lost which = {l->undecided ? NULL : &lost.unreached, &seen->stackless, first,
					     why};
	if (!e)
		e = stackless_rows(l, c->image, c->image->skip, c->image->nskip, &which);
	if (!l->all && !l->core && !*l->partial)
		l->undecided = NULL; // there is nothing to decide
	lost_deinit(&lost);
	return e;
}

static uint64_t cpu_now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static bool is_spent(void *until)
{
	return cpu_now() > *(const uint64_t *)until;
}

static int open_image(struct image *im, const struct search_source *from, uint64_t *until)
{
	uint64_t deadline = clock_mono_ns() + SEARCH_NS;
	int e = from->core ? image_of_core(im, from->core, deadline) :
			     image_of_process(im, from->pid, deadline);
	*until = cpu_now() + SEARCH_CPU_NS;
	im->memory.cancelled = is_spent;
	im->memory.ctx = until;
	return e;
}

// One look: all rows, or, once it is not the first of two, those that are lost.
static int look_now(struct listing *l, const struct search_source *from, struct looks *seen, bool first,
		    const char **why)
{
	struct image im;
	struct contexts c;
	struct registers_hold held = {0};
	uint64_t until;
	int e = open_image(&im, from, &until);
	*why = e ? im.why : NULL;
	if (e)
		return e;
	l->pid = im.pid;
	l->traced = from->known;
	if (from->known) {
		im.skip = from->known->ours;
		im.nskip = from->known->nours;
	}
	if (from->saved)
		save_read_partial(&im, from->saved);
	uint64_t began = clock_mono_ns();
	if (from->lost && !from->core)
		e = registers_take(&im, from->stop ? REGISTERS_ALL : REGISTERS_GLANCE, &held);
	if (!e)
		e = contexts_find(&c, &im);
	if (!e) {
		e = fill_whole(l, from, &c);
		if (!e && from->lost)
			e = look_lost(l, from, &c, seen, first);
		contexts_deinit(&c);
	}
	if (!from->core && !from->stop && l->undecided && !not_decidable(l, &im))
		l->stop_ns = clock_mono_ns() - began;
	registers_release(&held);
	image_close(&im);
	return e;
}

static int look(struct listing *l, const struct search_source *from, struct looks *seen, bool first,
		const char **why)
{
	*l = (struct listing){.core = from->core, .pid = from->pid};
	*why = NULL;
	seen->before = NULL;
	int e = from->lost && !from->core ? read_fds(&seen->before, from) : 0;
	if (!e)
		e = look_now(l, from, seen, first, why);
	listing_fds_free(seen->before);
	return e;
}

int search_save(pid_t pid, bool hold, bool all, bool tables, const char *folder)
{
	struct image im;
	struct registers_hold held = {0};
	int e = image_of_process(&im, pid, UINT64_MAX);
	if (e)
		return e;
	if (hold)
		e = registers_take(&im, all ? REGISTERS_ALL : REGISTERS_QUIET, &held);
	if (!e)
		e = save_process(&im, tables, folder);
	registers_release(&held);
	image_close(&im);
	return e;
}

static int look_again(struct listing *l, struct stackless_kept *k, struct image *im, bool *anew)
{
	const struct search_source from = {.pid = im->pid};
	struct contexts c;
	*anew = !stackless_is_of(k, im) || l->words.n > WORDS_EACH * l->n + WORDS_LEAST;
	if (*anew) {
		stackless_forget(l, k);
		l->pid = im->pid;
	}
	listing_again(l);
	int e = stackless_keep(k, im, *anew);
	if (!e)
		e = contexts_find(&c, im);
	if (e)
		return e;
	e = fill(l, &from, &c);
	if (!e)
		e = stackless_rows_kept(l, im, k);
	contexts_deinit(&c);
	return e ? e : pooled_decide(l);
}

int search_again(struct listing *l, struct stackless_kept *k, pid_t pid, bool *anew)
{
	struct image im;
	int e = image_of_process(&im, pid, clock_mono_ns() + AGAIN_NS);
	if (e)
		return e;
	e = look_again(l, k, &im, anew);
	image_close(&im);
	l->n = e ? 0 : l->n;
	return e;
}

int search_rows(struct listing *l, const struct search_source *from, bool apart, const char **why)
{
	struct looks seen = {0};
	const struct timespec second = {.tv_sec = 1};
	int e = 0;
	bool twice = from->lost && !from->core && !from->stop;
	if (twice) {
		e = look(l, from, &seen, true, why);
		listing_deinit(l);
		if (!e)
			nanosleep(&second, NULL);
	}
	if (!e)
		e = look(l, from, &seen, false, why);
	if (!e)
		e = listing_finish(l, apart);
	if (e)
		listing_deinit(l);
	free(seen.stackful.v);
	free(seen.stackless.v);
	return e;
}
