// SPDX-License-Identifier: MIT
//
// A word in a register, or one that the kernel holds, is apart from all others: what shows of a table in
// memory, that a form is in use, cannot be seen of it. So it counts in every form.
#include "engine/memory/roots.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/inspect/boundary.h"
#include "engine/stored/apart_text.h"
#include "search/disguise/disguise.h"
#include "search/mark/scan.h"
#include "search/opaque/opaque_words.h"

enum { HALVES_NUMBER = 20, HALVES_ALIGN = 16, HALVES_MOST = 3 << 18 };

static void root_group(struct roots *r, uint32_t group, const char *text)
{
	struct inspection *l = r->l;
	r->s->g.reached[group] = true;
	for (size_t i = 0; i < l->n; i++)
		if (graph_group(&r->s->g, (uint32_t)i) == group) {
			inspect_open(l, l->who[i]->s.id, "%s leads to it", text);
			if (l->who[i]->a[PROOF_P6A].holds != HOLDS_FALSE)
				inspect_say(&l->who[i]->a[PROOF_P6A], HOLDS_FALSE,
					    "%s leads to coroutine %llu", text,
					    (unsigned long long)l->who[i]->s.id);
		}
}

static void root(struct roots *r, uint64_t address, const char *text)
{
	uint32_t owners[GRAPH_OWNERS];
	unsigned n = graph_owners(&r->s->g, address, owners);
	for (unsigned i = 0; i < n; i++)
		root_group(r, owners[i], text);
}

// Of one word that is apart from all others: in disguise, all bits of it.
static uint64_t undisguised(struct roots *r, uint64_t word, enum disguise *form)
{
	for (unsigned f = DISGUISE_NONE + 1; f < DISGUISE_WORDS; f++) {
		bool tagged;
		uint32_t owners[GRAPH_OWNERS];
		uint64_t address = disguise_address(f, word, &tagged);
		if (!address || tagged || address <= UINT32_MAX || !graph_owners(&r->s->g, address, owners))
			continue;
		*form = f;
		return address;
	}
	*form = DISGUISE_RECODED;
	return recoded_find(&r->recoded, &r->s->g, word);
}

static void __attribute__((format(printf, 3, 4)))
root_word(struct roots *r, uint64_t word, const char *format, ...)
{
	uint32_t owners[GRAPH_OWNERS];
	// As it is; with a tag below it; a half of it.
	const uint64_t values[] = {word & SPAN_ADDRESS_MASK, word >> 8 & SPAN_ADDRESS_MASK,
				   word >> 16 & SPAN_ADDRESS_MASK, word & UINT32_MAX, word >> 32};
	uint64_t address = 0;
	enum disguise form = DISGUISE_NONE;
	for (size_t i = 0; !address && i < sizeof(values) / sizeof(*values); i++)
		if (graph_owners(&r->s->g, values[i], owners))
			address = values[i];
	if (!address)
		address = undisguised(r, word, &form);
	if (!address)
		return;
	char text[160];
	va_list ap;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	size_t n = strlen(text);
	if (form != DISGUISE_NONE)
		snprintf(text + n, sizeof(text) - n, ", %s,", disguise_text(form));
	root(r, address, text);
}

// Bytes that lie elsewhere than in memory.
struct apart {
	struct roots *r;
	const char *where;
};

static void on_apart(void *ctx, uint64_t at, uint64_t address)
{
	const struct apart *a = ctx;
	(void)at;
	root(a->r, address, a->where);
}

static void on_number(void *ctx, uint64_t number)
{
	const struct apart *a = ctx;
	root(a->r, number, a->where);
}

void roots_pointers(void *ctx, const char *where, const unsigned char *bytes, size_t n)
{
	struct roots *r = ctx;
	struct apart a = {r, where};
	struct scan s = {
		.targets = r->s->g.targets, .ntargets = r->s->g.ntargets, .hit = on_apart, .ctx = &a};
	scan_bytes(&s, bytes, n, 0);
}

void roots_text(void *ctx, const char *where, const char *text)
{
	struct apart a = {ctx, where};
	apart_text((const unsigned char *)text, strlen(text), on_number, &a);
}

// In the order of a network, at any byte.
static void root_swapped(struct roots *r, const char *where, const unsigned char *bytes, size_t n)
{
	unsigned char *swapped = malloc(n + 1);
	for (size_t i = 0; swapped && i < n; i++)
		swapped[i] = bytes[n - 1 - i];
	if (swapped)
		roots_pointers(r, where, swapped, n);
	r->s->g.failed |= !swapped;
	free(swapped);
}

// A number alone, of which the program may have cut off zeros.
static void root_shifted(struct roots *r, const char *where, uint64_t word)
{
	enum { ZEROS = 12 };
	for (unsigned k = 1; k <= ZEROS; k++)
		if (word << k >> 32 && word << k <= SPAN_ADDRESS_MASK)
			root(r, word << k, where);
}

void roots_number(void *ctx, const char *where, uint64_t number)
{
	if (!number)
		return;
	root_word(ctx, number, "%s", where);
	root_shifted(ctx, where, number);
}

// The address in an object whose lower 32 bits, or those of it shifted right, are this number; 0: there is
// none.
static uint64_t with_half(struct span in, unsigned shift, uint32_t half)
{
	uint64_t address = (in.lo >> shift >> 32 << 32 | half) << shift;
	address += address < in.lo ? 1ULL << 32 << shift : 0;
	return address < in.hi ? address : 0;
}

// How many addresses may have such a number by chance.
static uint64_t weight(const struct graph *g, bool begins)
{
	uint64_t n = 0;
	for (size_t i = 0; i < g->nspans; i++)
		n += begins ? 1 : (g->spans[i].hi - g->spans[i].lo) / HALVES_ALIGN + 1;
	return n;
}

static void root_half(struct roots *r, const char *where, uint32_t half, bool begins)
{
	static const unsigned shifts[] = {0, 1, 2, 3, 4, 12};
	const struct graph *g = &r->s->g;
	for (size_t i = 0; i < g->nspans; i++)
		for (size_t k = 0; g->spans[i].lo > UINT32_MAX && k < sizeof(shifts) / sizeof(*shifts); k++) {
			uint64_t address = with_half(g->spans[i], shifts[k], half);
			if (address == g->spans[i].lo || (address && !begins && address % HALVES_ALIGN == 0))
				root(r, address, where);
		}
}

// As of a handle of 32 bits. Fewer are compared than would make one in 400 by chance: with where objects
// begin, and with control blocks that lie in a stack.
static void root_halves(struct roots *r, const char *where, const unsigned char *bytes, size_t n)
{
	for (unsigned begins = 0; begins < 2; begins++) {
		uint64_t each = weight(&r->s->g, begins);
		for (size_t i = 0; i + sizeof(uint32_t) <= n; i++) {
			uint32_t half;
			memcpy(&half, bytes + i, sizeof(half));
			if (!(half >> HALVES_NUMBER) || !(~half >> HALVES_NUMBER) ||
			    r->halves[begins] + each > HALVES_MOST)
				continue;
			r->halves[begins] += each;
			root_half(r, where, half, begins);
		}
	}
}

// Shifted, complemented and the like: in what is short at any byte.
static void root_words(struct roots *r, const char *where, const unsigned char *bytes, size_t n)
{
	enum { SHORT = 1 << 16 };
	for (size_t i = 0; i + sizeof(uint64_t) <= n; i += n > SHORT ? sizeof(uint64_t) : 1) {
		uint64_t word;
		enum disguise form;
		memcpy(&word, bytes + i, sizeof(word));
		uint64_t address = word ? undisguised(r, word, &form) : 0;
		if (address)
			root(r, address, where);
	}
}

void roots_bytes(void *ctx, const char *where, const unsigned char *bytes, size_t n)
{
	struct roots *r = ctx;
	struct apart a = {r, where};
	roots_pointers(r, where, bytes, n);
	root_words(r, where, bytes, n);
	root_swapped(r, where, bytes, n);
	root_halves(r, where, bytes, n);
	if (n == sizeof(uint64_t)) {
		uint64_t word;
		memcpy(&word, bytes, sizeof(word));
		root_shifted(r, where, word);
	}
	apart_text(bytes, n, on_number, &a);
	r->opaque += opaque_bytes(bytes, n);
}

static const char *const REG_NAMES[CTP_REGS] = {"pc", "sp", "fp", "s0", "s1", "s2", "s3", "s4"};

static void registers(struct roots *r, const struct proc_task *t)
{
	if (t->sp)
		root_word(r, t->sp, "the stack pointer of thread %d", t->tid);
	if (t->slot >= 0 && (t->hooked || inspect_in_hook(&r->l->threads[t->slot], t)))
		for (int i = 0; i < CTP_REGS; i++)
			if (!(t->inherited >> i & 1))
				root_word(r, r->l->threads[t->slot].wait_regs[i],
					  "saved register %s of thread %d", REG_NAMES[i], t->tid);
	bool own = t->got_regs && !t->hooked;
	for (size_t i = 0; own && i < sizeof(t->regs) / sizeof(*t->regs); i++)
		root_word(r, t->regs[i], "a register of thread %d", t->tid);
	char where[48];
	snprintf(where, sizeof(where), "a vector register of thread %d", t->tid);
	if (own && !boundary_vectors_dead(r->l, t))
		roots_bytes(r, where, t->vectors, t->vector_bytes);
}

bool roots_kernel_held(struct roots *r)
{
	const struct inspection *l = r->l;
	for (size_t i = 0; i < l->registrations.n; i++)
		if (l->registrations.v[i].events &
		    CTP_REG_EVENTS) // a one-shot that fired brings its data to nobody
			root_word(r, l->registrations.v[i].data, "the registration of fd %d in epoll fd %d",
				  l->registrations.v[i].tfd, l->registrations.v[i].epfd);
	for (size_t i = 0; i < l->tasks.n; i++) {
		const struct proc_task *t = &l->tasks.v[i];
		if (t->slot < 0)
			continue;
		root_word(r, l->threads[t->slot].alt_stack, "the alternate signal stack of thread %d",
			  t->tid);
		root_word(r, l->threads[t->slot].base, "a base register of thread %d", t->tid);
	}
	char *text;
	if (proc_slurp(l->pid, "timers", &text, NULL))
		return false;
	for (char *at = text; (at = strstr(at, "signal: ")); at++) {
		char *slash = strchr(at, '/');
		if (slash)
			root_word(r, strtoull(slash + 1, NULL, 16), "the value of a POSIX timer");
	}
	free(text);
	return true;
}

void roots_registers(struct roots *r)
{
	for (size_t i = 0; i < r->l->tasks.n; i++)
		registers(r, &r->l->tasks.v[i]);
}
