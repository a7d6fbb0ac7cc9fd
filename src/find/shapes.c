// SPDX-License-Identifier: MIT
//
// One walk over all memory finds words that only a context has: one that points to its own
// floating-point state, a return address behind a switch, the same in glibc's disguise. A second
// one, for contexts that lie on their stack, finds who holds their stack pointer.
#include "find/shapes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "search/memory/memory_walk.h"

// Of glibc's ucontext_t and jmp_buf on x86_64.
enum {
	UC_LINK = 8,
	UC_STACK = 16,
	UC_STACK_SIZE = 32,
	UC_REGS = 40,
	UC_FPREGS = 224,
	UC_FPSTATE = 424,
	UC_BYTES = 232,
	UC_R12 = 4,
	UC_R13,
	UC_R14,
	UC_R15,
	UC_RBP = 10,
	UC_RBX,
	UC_RSP = 15,
	UC_RIP,
};
enum { JB_RBX, JB_RBP, JB_R12, JB_R13, JB_R14, JB_R15, JB_RSP, JB_PC, JB_WORDS };
enum { UPPERS = 32, SIEVE_BITS = 1 << 20, MOST = 1 << 23, DISGUISE = 17, READ_AT_ONCE = 4096 };

struct hit {
	uint64_t at;
	uint32_t engine;
	bool label;
};

struct hits {
	struct hit *v;
	size_t n, capacity;
};

struct scan {
	const struct image *image;
	const struct sites *sites;
	struct shapes *out;
	uint32_t uppers[UPPERS]; // upper halves of return sites
	size_t nuppers;
	uint8_t *sieve; // a hash of the words looked for
	struct hits ucontexts, jmpbufs, saved;
	// of the second walk
	struct idmap by_saved;
	uint64_t least, most;
	bool failed;
};

static size_t sieve_place(uint64_t w)
{
	return (w ^ w >> 20) & (SIEVE_BITS - 1);
}

static bool sieved(const struct scan *s, uint64_t w)
{
	size_t p = sieve_place(w);
	return s->sieve[p / 8] >> (p & 7) & 1;
}

static void sieve_add(struct scan *s, uint64_t w)
{
	size_t p = sieve_place(w);
	s->sieve[p / 8] |= (uint8_t)(1u << (p & 7));
}

static void add_hit(struct scan *s, struct hits *h, struct hit one)
{
	if (h->n >= MOST || GROW(h->v, h->n, h->capacity))
		s->failed = true;
	else
		h->v[h->n++] = one;
}

// ---------------------------------------------------------------- the first walk

static bool upper(const struct scan *s, uint64_t w)
{
	bool is = false;
	for (size_t i = 0; i < s->nuppers; i++)
		is |= (uint32_t)(w >> 32) == s->uppers[i];
	return is;
}

// `before`: the word before it.
static void on_site(struct scan *s, uint64_t at, uint64_t w, uint64_t before)
{
	uint32_t engine = idmap_get(&s->sites->by_addr, w);
	bool label = false;
	if (engine == IDMAP_NONE) {
		engine = idmap_get(&s->sites->labels_by_addr, w);
		label = true;
	}
	if (engine == IDMAP_NONE)
		return;
	enum site_kind kind = s->sites->engines[engine].kind;
	if (kind == SITE_ASSEMBLY)
		add_hit(s, &s->saved, (struct hit){at, engine, label});
	else if (kind == SITE_SWAPCONTEXT && before % 8 == 0 && before >> 47 == 0 && before)
		add_hit(s, &s->ucontexts, (struct hit){at - UC_REGS - 8 * UC_RIP, engine, true});
}

static void on_disguised(struct scan *s, uint64_t at, uint64_t w)
{
	uint32_t engine = idmap_get(&s->sites->by_addr, w);
	if (engine != IDMAP_NONE && s->sites->engines[engine].kind == SITE_SETJMP)
		add_hit(s, &s->jmpbufs, (struct hit){at - 8 * JB_PC, engine, false});
}

static uint64_t undisguised(const struct image *im, uint64_t w)
{
	return (w >> DISGUISE | w << (64 - DISGUISE)) ^ im->guard;
}

static void on_piece(void *ctx, const unsigned char *b, size_t n, uint64_t at)
{
	struct scan *s = ctx;
	const struct image *im = s->image;
	uint64_t guard = im->guard;
	for (size_t i = -at & 7; i + 8 <= n; i += 8) {
		uint64_t w;
		memcpy(&w, b + i, 8);
		if (w == at + i + (UC_FPSTATE - UC_FPREGS))
			add_hit(s, &s->ucontexts, (struct hit){at + i - UC_FPREGS, 0, false});
		if (!w)
			continue;
		if (sieved(s, w) && upper(s, w)) {
			uint64_t before = 0;
			if (i >= 8)
				memcpy(&before, b + i - 8, 8);
			on_site(s, at + i, w, before);
		}
		if (guard && !(undisguised(im, w) >> 48)) {
			uint64_t u = undisguised(im, w);
			if (sieved(s, u) && upper(s, u))
				on_disguised(s, at + i, u);
		}
	}
}

// Each mapping by itself: one that vanishes meanwhile does not end the walk.
static int walk(struct scan *s, void (*piece)(void *, const unsigned char *, size_t, uint64_t))
{
	const struct image *im = s->image;
	int e = 0;
	s->out->bytes = 0;
	for (size_t i = 0; i < im->nmaps && (!e || e == -EIO); i++) {
		struct memory one = im->memory;
		struct memory_walk w = {
			.memory = &one, .skip = im->skip, .nskip = im->nskip, .piece = piece, .ctx = s};
		one.maps = &im->maps[i];
		one.nmaps = 1;
		e = memory_walk(&w);
		s->out->bytes += w.bytes;
		if (e == -EAGAIN || e == -EIO)
			snprintf(s->out->partial, sizeof(s->out->partial), "%s", w.why);
		if (s->failed)
			return -ENOMEM;
	}
	return e == -ENOMEM ? e : 0;
}

static int begin(struct scan *s)
{
	s->sieve = calloc(SIEVE_BITS / 8, 1);
	if (!s->sieve)
		return -ENOMEM;
	for (size_t i = 0; i < s->sites->n + s->sites->nlabels; i++) {
		uint64_t w = i < s->sites->n ? s->sites->v[i].addr : s->sites->labels[i - s->sites->n].addr;
		if (!upper(s, w) && s->nuppers < UPPERS)
			s->uppers[s->nuppers++] = (uint32_t)(w >> 32);
		sieve_add(s, w);
	}
	return 0;
}

// ------------------------------------------------------------------ what they say

static int add(struct scan *s, const struct shape *one)
{
	int e = GROW(s->out->v, s->out->n, s->out->capacity);
	if (!e)
		s->out->v[s->out->n++] = *one;
	return e;
}

static struct shape parse_ucontext(uint64_t at, const unsigned char *bytes)
{
	uint64_t w[UC_BYTES / 8];
	memcpy(w, bytes, sizeof(w));
	const uint64_t *r = w + UC_REGS / 8;
	struct shape one = {.kind = SHAPE_UCONTEXT,
			    .block = at,
			    .link = w[UC_LINK / 8],
			    .stack_lo = w[UC_STACK / 8],
			    .stack_hi = w[UC_STACK / 8] + w[UC_STACK_SIZE / 8],
			    .regs = {[CTP_REG_PC] = r[UC_RIP],
				     [CTP_REG_SP] = r[UC_RSP],
				     [CTP_REG_FP] = r[UC_RBP],
				     [CTP_REG_S0] = r[UC_RBX],
				     [CTP_REG_S1] = r[UC_R12],
				     [CTP_REG_S2] = r[UC_R13],
				     [CTP_REG_S3] = r[UC_R14],
				     [CTP_REG_S4] = r[UC_R15]}};
	if (one.stack_hi <= one.stack_lo || one.regs[CTP_REG_SP] < one.stack_lo ||
	    one.regs[CTP_REG_SP] > one.stack_hi)
		one.stack_lo = one.stack_hi = 0;
	one.copied = w[UC_FPREGS / 8] != at + UC_FPSTATE;
	return one;
}

static struct shape parse_jmpbuf(const struct image *im, const struct hit *h, const unsigned char *bytes)
{
	uint64_t w[JB_WORDS];
	memcpy(w, bytes, sizeof(w));
	struct shape one = {.kind = SHAPE_JMPBUF, .block = h->at, .engine = h->engine};
	one.regs[CTP_REG_PC] = undisguised(im, w[JB_PC]);
	one.regs[CTP_REG_SP] = undisguised(im, w[JB_RSP]);
	one.regs[CTP_REG_FP] = undisguised(im, w[JB_RBP]);
	one.regs[CTP_REG_S0] = w[JB_RBX];
	one.regs[CTP_REG_S1] = w[JB_R12];
	one.regs[CTP_REG_S2] = w[JB_R13];
	one.regs[CTP_REG_S3] = w[JB_R14];
	one.regs[CTP_REG_S4] = w[JB_R15];
	return one;
}

// Words from `from` on, of what one recipe reads at once.
enum { NEAR_WORDS = 32, NEAR_BELOW = 24, PAGE = 4096 };

static uint64_t near_word(const unsigned char *bytes, uint64_t from, uint64_t at)
{
	uint64_t w = 0;
	if (at >= from && at - from + 8 <= 8 * NEAR_WORDS)
		memcpy(&w, bytes + (at - from), 8);
	return w;
}

static struct shape parse_saved(const struct sites *sites, const struct hit *h, const unsigned char *bytes)
{
	const struct recipe *r = &sites->engines[h->engine].recipe;
	uint64_t from = h->at - 8 * NEAR_BELOW, block = 0, saved;
	struct shape one = {.kind = SHAPE_ASSEMBLY, .engine = h->engine, .created = h->label};
	if (r->regs[CTP_REG_PC].where == RECIPE_BLOCK) {
		block = h->at - (uint64_t)(int64_t)r->regs[CTP_REG_PC].off;
		saved = near_word(bytes, from, block);
	} else {
		saved = h->at - (uint64_t)(int64_t)r->regs[CTP_REG_PC].off;
	}
	one.block = block;
	one.saved = saved;
	for (int i = 0; i < CTP_REGS; i++) {
		uint64_t base = r->regs[i].where == RECIPE_BLOCK ? block : saved;
		if (r->regs[i].where != RECIPE_NOWHERE && base)
			one.regs[i] = near_word(bytes, from, base + (uint64_t)(int64_t)r->regs[i].off);
	}
	one.regs[CTP_REG_SP] = saved + (uint64_t)(int64_t)r->sp;
	return one;
}

enum what { A_UCONTEXT, A_JMPBUF, A_SAVED };

static int take_one(struct scan *s, enum what what, const struct hit *h, const unsigned char *bytes)
{
	struct shape one;
	switch (what) {
	case A_UCONTEXT:
		one = parse_ucontext(h->at, bytes);
		return one.copied == h->label ? add(s, &one) : 0; // else it was found the other way
	case A_JMPBUF:
		one = parse_jmpbuf(s->image, h, bytes);
		return add(s, &one);
	default:
		one = parse_saved(s->sites, h, bytes);
		return one.saved % 8 ? 0 : add(s, &one);
	}
}

// Reads `bytes` at each hit - `below`, and takes those that are there.
static int take(struct scan *s, struct hits *h, size_t bytes, uint64_t below, enum what what)
{
	unsigned char *buffer = malloc(READ_AT_ONCE * bytes);
	uint64_t *addrs = malloc(READ_AT_ONCE * sizeof(*addrs));
	bool *got = calloc(READ_AT_ONCE, 1);
	int e = buffer && addrs && got ? 0 : -ENOMEM;
	for (size_t at = 0; !e && at < h->n; at += READ_AT_ONCE) {
		size_t n = h->n - at < READ_AT_ONCE ? h->n - at : READ_AT_ONCE;
		memset(buffer, 0, n * bytes);
		for (size_t i = 0; i < n; i++)
			addrs[i] = h->v[at + i].at - below;
		for (size_t i = 0; what == A_SAVED && i < n; i++)
			if (h->v[at + i].at / PAGE != (addrs[i] + bytes - 1) / PAGE)
				addrs[i] = 0; // the next page is perhaps another's, and was never touched
		image_read_many(s->image, addrs, n, bytes, buffer, got);
		for (size_t i = 0; !e && i < n; i++) {
			const unsigned char *b = buffer + i * bytes;
			if (!got[i] && what != A_SAVED)
				continue;
			if (!got[i]) // a context at the end of its stack: what is there counts
				image_peek_touched(s->image, h->v[at + i].at - below, buffer + i * bytes,
						   bytes);
			e = take_one(s, what, &h->v[at + i], b);
		}
	}
	free(buffer);
	free(addrs);
	free(got);
	return e;
}

// --------------------------------------------------------------- the second walk

static void on_holder_piece(void *ctx, const unsigned char *b, size_t n, uint64_t at)
{
	struct scan *s = ctx;
	for (size_t i = -at & 7; i + 8 <= n; i += 8) {
		uint64_t w;
		memcpy(&w, b + i, 8);
		if (w < s->least || w > s->most || !sieved(s, w))
			continue;
		uint32_t k = idmap_get(&s->by_saved, w);
		struct shape *one = k == IDMAP_NONE ? NULL : &s->out->v[k];
		if (one && one->nholders < SHAPE_HOLDERS)
			one->holders[one->nholders++] = at + i;
	}
}

static int find_holders(struct scan *s)
{
	uint64_t bytes = s->out->bytes;
	int e = 0;
	size_t n = 0;
	memset(s->sieve, 0, SIEVE_BITS / 8);
	s->least = UINT64_MAX;
	s->most = 0;
	for (size_t i = 0; !e && i < s->out->n; i++) {
		const struct shape *one = &s->out->v[i];
		if (one->kind != SHAPE_ASSEMBLY || one->block)
			continue;
		s->least = one->saved < s->least ? one->saved : s->least;
		s->most = one->saved > s->most ? one->saved : s->most;
		sieve_add(s, one->saved);
		e = idmap_set(&s->by_saved, one->saved, (uint32_t)i);
		n++;
	}
	if (!e && n)
		e = walk(s, on_holder_piece);
	s->out->bytes = bytes;
	return e;
}

int shapes_find(struct shapes *out, const struct image *im, const struct sites *sites)
{
	struct scan s = {.image = im, .sites = sites, .out = out};
	*out = (struct shapes){0};
	int e = begin(&s);
	if (!e)
		e = walk(&s, on_piece);
	if (!e)
		e = take(&s, &s.ucontexts, UC_BYTES, 0, A_UCONTEXT);
	if (!e)
		e = take(&s, &s.jmpbufs, 8 * JB_WORDS, 0, A_JMPBUF);
	if (!e)
		e = take(&s, &s.saved, 8 * NEAR_WORDS, 8 * NEAR_BELOW, A_SAVED);
	if (!e)
		e = find_holders(&s);
	free(s.sieve);
	free(s.ucontexts.v);
	free(s.jmpbufs.v);
	free(s.saved.v);
	idmap_deinit(&s.by_saved);
	if (e)
		shapes_deinit(out);
	return e;
}

bool shapes_again(struct shape *one, const struct image *im, const struct sites *s)
{
	unsigned char bytes[8 * NEAR_WORDS] = {0};
	struct hit h = {one->block, one->engine, false};
	struct shape was = *one, now;
	if (one->kind == SHAPE_UCONTEXT) {
		if (!image_read(im, one->block, bytes, UC_BYTES))
			return false;
		now = parse_ucontext(one->block, bytes);
	} else if (one->kind == SHAPE_JMPBUF) {
		if (!image_read(im, one->block, bytes, 8 * JB_WORDS))
			return false;
		now = parse_jmpbuf(im, &h, bytes);
	} else {
		const struct recipe_place *pc = &s->engines[one->engine].recipe.regs[CTP_REG_PC];
		uint64_t holder = one->block ? one->block : one->nholders ? one->holders[0] : 0;
		uint64_t saved = one->saved;
		if (holder && !image_word(im, holder, &saved))
			return false;
		h.at = (pc->where == RECIPE_BLOCK ? one->block : saved) + (uint64_t)(int64_t)pc->off;
		image_peek_touched(im, h.at - 8 * NEAR_BELOW, bytes, sizeof(bytes));
		now = parse_saved(s, &h, bytes);
		now.created = idmap_get(&s->labels_by_addr, now.regs[CTP_REG_PC]) != IDMAP_NONE;
		if (!now.created && !sites_engine(s, now.regs[CTP_REG_PC]))
			return false;
		memcpy(now.holders, was.holders, sizeof(now.holders));
		now.nholders = was.nholders;
	}
	now.run = was.run;
	*one = now;
	return true;
}

uint64_t shapes_where(const struct shape *one)
{
	return one->kind == SHAPE_UCONTEXT ? one->block + UC_REGS + 8 * UC_RSP :
	       one->kind == SHAPE_JMPBUF   ? one->block + 8 * JB_RSP :
					     0;
}

bool shapes_keeps(const struct shape *one, const struct image *im, const uint64_t words[2])
{
	bool plain = one->kind == SHAPE_UCONTEXT;
	uint64_t sp = plain ? words[0] : undisguised(im, words[0]),
		 pc = plain ? words[1] : undisguised(im, words[1]);
	return one->kind != SHAPE_ASSEMBLY && sp == one->regs[CTP_REG_SP] && pc == one->regs[CTP_REG_PC];
}

void shapes_deinit(struct shapes *s)
{
	free(s->v);
	*s = (struct shapes){0};
}
