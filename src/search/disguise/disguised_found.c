// SPDX-License-Identifier: MIT
//
// What is found: words, 32-bit numbers and distances that may lead to what nothing reaches.
#include <string.h>
#include <stdlib.h>

#include "search/disguise/disguised_own.h"
#include "search/mark/scan.h"

enum {
	HITS_MOST = 1 << 20,
	BESIDE_BYTES = 128,
	HALF = 4,
	NAMED_MOST = 8,
	ADDRESS_BITS = 47,
	SMALL = 1 << 18
};

void disguised_add_hit(struct disguised *d, uint64_t at, uint64_t address, uint32_t form)
{
	if (d->nhits == d->room) {
		size_t room = d->room ? 2 * d->room : 256;
		struct disguised_hit *more = room <= HITS_MOST ? realloc(d->hits, room * sizeof(*more)) :
								 NULL;
		if (!more) {
			d->failed = true;
			return;
		}
		d->hits = more;
		d->room = room;
	}
	d->hits[d->nhits++] = (struct disguised_hit){.at = at, .address = address, .form = form};
}

static bool is_freed(const struct disguised *d, uint64_t at)
{
	return scan_find(d->s->freed.v, d->s->freed.n, at) < d->s->freed.n;
}

static void on_sum(struct disguised_pass *p, uint64_t at, uint64_t sum)
{
	for (size_t i = 0; i < p->words.nbegins && p->words.begins[i] < sum && !p->d->failed; i++) {
		uint64_t partner = sum - p->words.begins[i];
		const struct maps_line *m = partner % DISGUISED_WORD ? NULL :
								       memory_map(p->d->s->memory, partner);
		if (m && m->perms[1] == 'w')
			disguised_add_hit(p->d, at, p->words.begins[i], DISGUISE_SUM);
	}
}

void disguised_on_word(void *ctx, uint64_t at, uint64_t address, enum disguise form)
{
	struct disguised_pass *p = ctx;
	if (is_freed(p->d, at) ||
	    (form == DISGUISE_OUTSIDE && (disguised_in_lost(p, at) || !tables_near(&p->tables, address))))
		return;
	if (form == DISGUISE_SUM)
		on_sum(p, at, address);
	else
		disguised_add_hit(p->d, at, address, form);
}

// All bits of it are there.
static void on_whole(struct disguised_pass *p, uint64_t at, uint64_t address, enum disguise form)
{
	if (!is_freed(p->d, at))
		disguised_add_hit(p->d, at, address, form);
}

void disguised_on_product(void *ctx, uint64_t at, uint64_t address)
{
	on_whole(ctx, at, address, DISGUISE_PRODUCT);
}

void disguised_on_varint(void *ctx, uint64_t at, uint64_t address)
{
	on_whole(ctx, at, address, DISGUISE_VARINT);
}

// The C library, the loader, or a program's file has no half of an address that is known only since the
// program began.
static bool counts_halves(struct disguised_pass *p, uint64_t at, uint64_t address)
{
	const struct memory *m = p->d->s->memory;
	return address < DISGUISED_FOUR_GIB ||
	       (!bases_is_loader(m, at) && !bases_is_auxv(m, at) && !constants_built(&p->constants, at) &&
		!loader_pages_has(&p->loader, m, at));
}

// What lies in lost objects themselves, and what a program's file or the loader has, tells nothing.
void disguised_on_column(void *ctx, uint64_t at, uint64_t address)
{
	struct disguised_pass *p = ctx;
	if (!disguised_in_lost(p, at) && counts_halves(p, at, address))
		on_whole(p, at, address, DISGUISE_COLUMNS);
}

void disguised_on_parts(void *ctx, uint64_t at, uint64_t address)
{
	on_whole(ctx, at, address, DISGUISE_PARTS);
}

void disguised_on_bits(void *ctx, uint64_t at, uint64_t address)
{
	on_whole(ctx, at, address, DISGUISE_BITS);
}

void disguised_on_link(void *ctx, uint64_t at, uint64_t address)
{
	on_whole(ctx, at, address, DISGUISE_LINK);
}

void disguised_on_code(void *ctx, uint64_t at, uint64_t address)
{
	on_whole(ctx, at, address, DISGUISE_CODE);
}

static void on_near(struct disguised_pass *p, uint64_t at, uint64_t word)
{
	struct handles_tally *t = &p->forms.values.forms[DISGUISE_NEAR];
	uint64_t to = at + word, distance = (int64_t)word < 0 ? -word : word;
	bool telling = handle_forms_telling(distance) || (distance != word && disguised_begins_at(p, to));
	if (!telling || !disguised_in_lost(p, to))
		return;
	if (!disguised_in_lost(p, at)) {
		t->hits[HANDLES_DECOY] += to & 1; // no pointer
		t->hits[HANDLES_TARGET] += to % DISGUISED_WORD == 0;
	}
	if (to % DISGUISED_WORD == 0)
		disguised_add_hit(p->d, at, to, DISGUISE_NEAR);
}

// A pointer to something else is none; the lowest bits may be a tag's where an object begins.
void disguised_on_self(void *ctx, uint64_t at, uint64_t word)
{
	struct disguised_pass *p = ctx;
	uint64_t to = at + word;
	if (is_freed(p->d, at))
		return;
	if (self_words_is_near(word))
		on_near(p, at, word);
	else if ((to % DISGUISED_WORD == 0 || disguised_begins_at(p, to & ~(uint64_t)(DISGUISED_WORD - 1))) &&
		 !memory_map(p->d->s->memory, word))
		disguised_add_hit(p->d, at, to, DISGUISE_AWAY);
}

// Bytes of memory: those of the piece, which has been read already, where it has them all. How many there
// are.
static size_t peek(const struct disguised_pass *p, uint64_t lo, void *to, size_t n)
{
	if (lo < p->piece.lo || lo + n > p->piece.hi)
		return memory_peek_touched(p->d->s->memory, lo, to, n);
	memcpy(to, p->piece.bytes + (lo - p->piece.lo), n);
	return n;
}

// Either half of a pointer to something else, or to its end: the upper halves of all pointers to a heap are
// one small number, and some word is as far as that from anything.
static bool in_pointer(const struct disguised_pass *p, uint64_t at)
{
	const struct memory *m = p->d->s->memory;
	uint64_t word;
	return peek(p, at - at % DISGUISED_WORD, &word, sizeof(word)) == sizeof(word) &&
	       word >= DISGUISED_FOUR_GIB && word >> ADDRESS_BITS == 0 &&
	       (memory_map(m, word) || memory_map(m, word - 1));
}

// What lies around `at`, so much on either side if it is mapped. How many bytes.
static size_t around(const struct disguised_pass *p, uint64_t at, uint64_t reach, void *to, uint64_t *lo)
{
	const struct maps_line *m = memory_map(p->d->s->memory, at);
	if (!m)
		return 0;
	*lo = at - m->lo < reach ? m->lo : at - reach;
	return peek(p, *lo, to, (m->hi - at < reach ? m->hi : at + reach) - *lo);
}

// Is the upper half near, too?
static bool has_other_half(const struct disguised_pass *p, uint64_t at, uint64_t address)
{
	uint32_t beside[2 * BESIDE_BYTES / HALF], upper = (uint32_t)(address >> 32);
	uint64_t lo;
	size_t n = around(p, at, BESIDE_BYTES, beside, &lo) / HALF;
	for (size_t i = 0; i < n; i++)
		if (beside[i] == upper)
			return true;
	return false;
}

// Is the number part of no image of the address, though it looks like one?
static bool is_no_image(const struct disguised_pass *p, uint64_t at, const struct handles_value *v)
{
	struct image image;
	char beside[2 * IMAGES_REACH];
	uint64_t lo;
	if (!handle_forms_image(&p->forms, v, &image))
		return false;
	size_t n = around(p, at, IMAGES_REACH, beside, &lo);
	return !image_at(&image, beside, n, at - lo);
}

// Is it the lower half of the address, shifted right?
static bool is_shifted(const struct disguised_pass *p, uint64_t at, uint64_t address)
{
	uint64_t word;
	if (at % DISGUISED_WORD || peek(p, at, &word, sizeof(word)) != sizeof(word))
		return false;
	for (unsigned k = HANDLE_FORMS_RIGHT; k <= HANDLE_FORMS_RIGHT_MOST; k++)
		if (word == address >> k && word << k == address)
			return true;
	return false;
}

// One word outside of what is looked for tells all that there is to know of a value: more are names only.
static bool is_told(const struct handles_value *v)
{
	return v->hit && (v->class != HANDLES_TARGET || v->kept >= NAMED_MOST);
}

// All bits of the address are compared. Such a word is no chance, though it could be a pointer as well: one
// into the hundreds of GiB that the region of libctp.so takes, or that a program reserves.
static bool is_whole(const struct handles_value *v)
{
	return v->form == DISGUISE_RECODED || v->form == DISGUISE_RIGHT_MORE;
}

// Is the 32-bit number at `at` the distance of this address from there?
static bool is_distance(uint64_t at, uint32_t number, uint64_t address)
{
	return number && (int64_t)(address - at) == (int32_t)number;
}

// What the C library, the loader and their like count is their own, and the kernel's tags are none of the
// program's.
static bool counts_distances(struct disguised_pass *p, uint64_t at)
{
	const struct memory *m = p->d->s->memory;
	return !bases_is_runtime(m, at) && !bases_is_auxv(m, at) && !constants_has(&p->constants, at) &&
	       !loader_pages_has(&p->loader, m, at);
}

// glibc's link of a freed block to nothing is the number of its own page (PROTECT_PTR), and stays there when
// the block is in use again. In any page that has one it would be the upper bits of all that begins there.
static bool is_last_link(const struct disguised_pass *p, uint64_t at)
{
	enum { PAGE_BITS = 12, ALIGNED = 16 };
	uint64_t word = 0;
	return at % ALIGNED == 0 &&
	       memory_peek_touched(p->d->s->memory, at, &word, DISGUISED_WORD) == DISGUISED_WORD &&
	       word == at >> PAGE_BITS;
}

static void on_value(struct disguised_pass *p, uint64_t at, uint32_t number, struct handles_value *v,
		     bool inside)
{
	uint64_t address = handle_forms_address(&p->forms, v);
	if (v->form == DISGUISE_SELF && !is_distance(at, number, address))
		return;
	if (v->form >= DISGUISES ? !counts_distances(p, at) :
				   v->form != DISGUISE_SELF && !counts_halves(p, at, address))
		return;
	if (v->form == DISGUISE_UPPER && is_last_link(p, at))
		return;
	if (is_no_image(p, at, v) || (v->form == DISGUISE_RIGHT_MORE && !is_shifted(p, at, address)))
		return;
	if (v->form == DISGUISE_HALVES && !has_other_half(p, at, address))
		return;
	if (v->class == HANDLES_TARGET)
		disguised_add_hit(p->d, at, address, v->form);
	if (inside)
		return;
	p->of_few += !v->hit && handle_forms_of_few(&p->forms, v);
	v->kept += v->kept < NAMED_MOST;
	handles_note(&p->forms.values, v);
}

bool disguised_counts(void *ctx, uint64_t at)
{
	struct disguised_pass *p = ctx;
	return !is_freed(p->d, at) && !disguised_in_lost(p, at);
}

bool disguised_in_row(void *ctx, uint64_t at)
{
	struct disguised_pass *p = ctx;
	return counts_distances(p, at) && !is_freed(p->d, at) && !in_pointer(p, at) &&
	       !disguised_in_lost(p, at);
}

// The number at `at`, or where it leads if it is a distance from there.
static void on_handle(struct disguised_pass *p, uint64_t at, uint32_t number, bool self)
{
	struct handles_value *v;
	size_t n = handles_find(&p->forms.values, self ? (uint32_t)at + number : number, &v), told = 0;
	while (told < n &&
	       (is_told(&v[told]) || (v[told].form == DISGUISE_SELF) != self)) // a number that is everywhere
		told++;
	if (told == n || is_freed(p->d, at))
		return;
	bool inside = disguised_in_lost(p, at), pointer = in_pointer(p, at);
	for (size_t i = told; i < n; i++)
		if (!is_told(&v[i]) && (v[i].form == DISGUISE_SELF) == self && (!pointer || is_whole(&v[i])))
			on_value(p, at, number, &v[i], inside);
}

static void try_half(struct disguised_pass *p, uint64_t at, uint32_t number)
{
	const struct handles *h = &p->forms.values;
	if (handles_may(h, number))
		on_handle(p, at, number, false);
	if (handles_may_apart(h, number + (uint32_t)at))
		on_handle(p, at, number, true);
}

// The two halves of a word at once: nearly all words are passed over.
static void find_handles(struct disguised_pass *p, const unsigned char *b, size_t n, uint64_t at)
{
	const struct handles *h = &p->forms.values;
	size_t i = -at & (HALF - 1);
	uint32_t v[2];
	p->piece.bytes = b;
	p->piece.lo = at;
	p->piece.hi = at + n;
	for (; i + DISGUISED_WORD <= n; i += DISGUISED_WORD) {
		memcpy(v, b + i, sizeof(v));
		uint32_t from = (uint32_t)(at + i);
		if (!(handles_may(h, v[0]) | handles_may(h, v[1]) | handles_may_apart(h, v[0] + from) |
		      handles_may_apart(h, v[1] + from + HALF)))
			continue;
		for (unsigned k = 0; k < 2; k++)
			try_half(p, at + i + k * HALF, v[k]);
	}
	if (i + HALF <= n) {
		memcpy(v, b + i, HALF);
		try_half(p, at + i, *v);
	}
}

// All of a small memory; of a large one static storage, and small mappings, such as a thread's own storage.
static bool is_small(struct disguised_pass *p, uint64_t at)
{
	const struct memory *m = p->d->s->memory;
	if (at >= p->map.lo && at < p->map.hi)
		return p->map.small;
	const struct maps_line *in = memory_map(m, at);
	p->map.lo = in ? in->lo : at;
	p->map.hi = in ? in->hi : at + 1;
	p->map.small = p->forms.bytes < HANDLE_FORMS_LARGE || p->map.hi - p->map.lo <= SMALL ||
		       bases_is_static(m, at);
	return p->map.small;
}

void disguised_on_piece(void *ctx, const unsigned char *b, size_t n, uint64_t at)
{
	struct disguised_pass *p = ctx;
	disguise_words_find(&p->words, b, n, at);
	self_words_find(&p->self, b, n, at);
	xor_words_find(&p->xors, b, n, at);
	xor_words_find(&p->odd, b, n, at);
	find_handles(p, b, n, at);
	families_find(&p->families, b, n, at);
	if (!is_small(p, at))
		return;
	own_xors_find(&p->own, b, n, at);
	products_find(&p->products, b, n, at);
	varints_find(&p->varints, b, n, at);
	columns_find(&p->columns, b, n, at);
	number_rows_find(&p->rows, b, n, at);
	packed_bits_find(&p->packed, b, n, at);
	code_pages_find(&p->code, b, n, at);
	xor_links_find(&p->links, b, n, at);
}

void disguised_on_piece_again(void *ctx, const unsigned char *b, size_t n, uint64_t at)
{
	find_handles(ctx, b, n, at);
}
