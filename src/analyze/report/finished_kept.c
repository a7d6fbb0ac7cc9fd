// SPDX-License-Identifier: MIT
//
// State Threads, GNU Pth and Boost.Fiber end a thread in a function of theirs that does not return: it
// switches away for the last time. What is left is kept for the next thread, or until somebody joins this
// one, and looks suspended in the tables. Nothing resumes the thread's own code from there, so it waits for
// nobody. The function is known by its name: a program may well call it in the midst of its own.
// So does Boost.Coroutine2, from the function that has run the program's own: while that runs, its frames
// stand between.
#include "analyze/report/finished_kept.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report/frames.h"

static const char *const ends[] = {"st_thread_exit", "pth_exit", "boost::fibers::context::terminate()"};

static bool is_end(const struct symbols_frame *f)
{
	for (size_t i = 0; f->symbol && i < sizeof(ends) / sizeof(*ends); i++)
		if (!strcmp(f->symbol, ends[i]))
			return true;
	return false;
}

static bool has(const char *name, const char *part)
{
	return name && strstr(name, part);
}

static bool ends_in(const char *name, const char *part)
{
	size_t n = name ? strlen(name) : 0, k = strlen(part);
	return n >= k && !strcmp(name + n - k, part);
}

// A lambda of the library's, in a file of it: the compiler may name it no further. What it has put into that
// lambda has frames of its own where files are known. Who makes a coroutine resumes it from there, too, but
// from the function around the lambda.
static bool is_last_resume(const struct frames *f)
{
	size_t at = f->n && has(f->items[0]->symbol, "jump_fcontext") ? 1 : 0;
	if (at + 1 >= f->n || !has(f->items[at]->symbol, "boost::context::fiber::resume("))
		return false;
	const struct symbols_frame *runs = f->items[at + 1];
	return has(runs->file, "boost/coroutine2/detail/") && has(runs->file, "_control_block_") &&
	       (!strcmp(runs->symbol ? runs->symbol : "", "operator()") ||
		ends_in(runs->symbol, "::operator()(boost::context::fiber&&)"));
}

static int read_stack(const struct report *r, const struct image *m, uint32_t stack, bool *end)
{
	struct frames f = {0};
	int e = frames_read(&f, r->symbols[m - r->world->images], m, stack);
	*end = !e && is_last_resume(&f);
	for (size_t i = 0; !e && i < f.n; i++)
		*end = *end || is_end(f.items[i]);
	frames_deinit(&f);
	return e;
}

// Each stack is read once: there may be a million coroutines, and few stacks.
static int mark(struct report *r, const struct image *m, unsigned char *kept, uint64_t *n)
{
	enum { UNREAD, ENDED, NOT };
	size_t stacks = m->stack_index.n;
	unsigned char *read = calloc(stacks + 1, 1);
	int e = read ? 0 : -ENOMEM;
	for (size_t i = 0; !e && i < m->stations.n; i++) {
		const struct ctp_state *s = image_state(m, i);
		bool end;
		if (!(m->row_flags[i] & IMAGE_ROW_PARKED) || !s->stack || s->stack >= stacks)
			continue;
		if (read[s->stack] == UNREAD) {
			e = read_stack(r, m, s->stack, &end);
			read[s->stack] = end ? ENDED : NOT;
		}
		kept[i] = read[s->stack] == ENDED;
		*n += kept[i];
	}
	free(read);
	return e;
}

bool finished_kept(const struct report *r, const struct image *m, size_t row)
{
	const unsigned char *kept = r->kept ? r->kept[m - r->world->images] : NULL;
	return kept && row < m->stations.n && kept[row];
}

static void remove_cases(struct report *r)
{
	size_t n = 0;
	for (size_t i = 0; i < r->results.ncases; i++) {
		const struct verdict_case *c = &r->results.cases[i];
		const struct image *m = c->about.image;
		if (strcmp(c->pass->rule, rules_id[RULE_PARKED]) != 0 ||
		    !finished_kept(r, m, idmap_get(&m->by_id, c->id)))
			r->results.cases[n++] = *c;
	}
	r->results.ncases = n;
}

int finished_kept_find(struct report *r, bool parked)
{
	const struct world *w = r->world;
	uint64_t n = 0;
	int e = 0;
	r->kept = calloc(w->nimages + 1, sizeof(*r->kept));
	if (!r->kept)
		return -ENOMEM;
	for (size_t k = 0; !e && k < w->nimages; k++) {
		const struct image *m = &w->images[k];
		if (!m->has_tables || m->replaced)
			continue;
		r->kept[k] = calloc(m->stations.n + 1, 1);
		e = r->kept[k] ? mark(r, m, r->kept[k], &n) : -ENOMEM;
	}
	if (!e && n)
		remove_cases(r);
	return e || !n || !parked ? e :
				    results_fact(&r->results, "INFO", n,
						 "%" PRIu64 " coroutine%s ended, and %s kept by %s library",
						 n, n == 1 ? " has" : "s have", n == 1 ? "is" : "are",
						 n == 1 ? "its" : "their");
}

void finished_kept_deinit(struct report *r)
{
	for (size_t k = 0; r->kept && k < r->world->nimages; k++)
		free(r->kept[k]);
	free(r->kept);
	r->kept = NULL;
}
