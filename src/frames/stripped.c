// SPDX-License-Identifier: MIT
//
// The unwind table, which strip leaves, says where functions begin. Each that may destroy a coroutine is
// asked by its code (destroys.h). GCC's leads to the one that resumes. Of others the ramp tells, which takes
// the address of one right behind that of the other, and the two must fit. Clang's destroy function may do
// nothing but free the frame: then the ramp must store both, and a state of zero where the resume function
// asks for its state first, and that one must store a state itself.
#include "frames/stripped.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/search.h"
#include "frames/destroys.h"
#include "frames/dispatch.h"
#include "frames/ramps.h"
#include "symbols/ehframe.h"

enum {
	PIECES_MOST = 16,
	VIEW_BYTES = 1 << 18,
	BEGIN_BYTES = 80, // of a function that are looked at first
	NEAR = 96,        // from where the ramp takes one address to where it takes the other
	LEA = 0x8d,
	LEA_BYTES = 6, // without its prefix
	RAMP_MOST = 1 << 16,
	CANDIDATES_MOST = 1 << 16,
	PAIRS_MOST = 1 << 18
};

struct piece { // of the file, as it is mapped
	uint64_t at, offset, bytes;
	bool code;
};

struct candidate {
	uint64_t at;
	struct destroys is;
};

struct found {
	uint64_t resume, destroy;
	enum pair_maker maker;
};

struct object {
	int fd;
	uint64_t bias;
	bool fixed; // its place is in its instructions
	struct piece pieces[PIECES_MOST];
	size_t npieces;
	uint64_t *starts; // of functions
	size_t nstarts;
	struct candidate *v;
	size_t n, room;
	struct found *found;
	size_t nfound, found_room;
	uint64_t view; // what stands in `bytes`
	size_t have;
	uint8_t *bytes;
	struct machine machine;
};

// ---------------------------------------------------------------------- bytes

static const struct piece *piece_at(const struct object *o, uint64_t at)
{
	for (size_t i = 0; i < o->npieces; i++)
		if (at >= o->pieces[i].at && at - o->pieces[i].at < o->pieces[i].bytes)
			return &o->pieces[i];
	return NULL;
}

static size_t read_file(const struct object *o, uint64_t at, void *to, size_t bytes)
{
	const struct piece *p = piece_at(o, at);
	if (!p)
		return 0;
	uint64_t in = at - p->at, left = p->bytes - in;
	ssize_t n = pread(o->fd, to, bytes < left ? bytes : (size_t)left, (off_t)(p->offset + in));
	return n > 0 ? (size_t)n : 0;
}

static size_t peek(void *ctx, uint64_t at, void *to, size_t bytes)
{
	const struct object *o = ctx;
	uint64_t in = at - o->view;
	if (at < o->view || in > o->have || bytes > o->have - in)
		return read_file(o, at, to, bytes);
	memcpy(to, o->bytes + in, bytes);
	return bytes;
}

// The bytes from `at` on, which are so many; at least `wanted` if the file has them.
static const uint8_t *view(struct object *o, uint64_t at, size_t wanted, size_t *n)
{
	if (at < o->view || at - o->view > o->have || o->have - (at - o->view) < wanted) {
		o->view = at;
		o->have = read_file(o, at, o->bytes, VIEW_BYTES);
	}
	*n = o->have - (size_t)(at - o->view);
	return o->bytes + (at - o->view);
}

// ------------------------------------------------------------------ functions

static bool is_start(const struct object *o, uint64_t at)
{
	size_t i = FIRST_NOT(o->nstarts, k, o->starts[k] < at);
	return i < o->nstarts && o->starts[i] == at;
}

static uint64_t end_of(const struct object *o, uint64_t start)
{
	size_t i = FIRST_NOT(o->nstarts, k, o->starts[k] <= start);
	const struct piece *p = piece_at(o, start);
	uint64_t end = p ? p->at + p->bytes : start;
	return i < o->nstarts && o->starts[i] < end ? o->starts[i] : end;
}

static int find_candidates(struct object *o)
{
	int e = 0;
	for (size_t i = 0; i < o->nstarts && !e && o->n < CANDIDATES_MOST; i++) {
		uint64_t at = o->starts[i];
		const struct piece *p = piece_at(o, at);
		struct candidate c = {.at = at};
		size_t n;
		if (!p || !p->code)
			continue;
		const uint8_t *b = view(o, at, BEGIN_BYTES, &n);
		uint64_t whole = i + 1 < o->nstarts ? o->starts[i + 1] - at : BEGIN_BYTES;
		n = n < BEGIN_BYTES ? n : BEGIN_BYTES;
		n = n < whole ? n : (size_t)whole;
		if (!destroys_may(b, n) || !destroys_learn(&c.is, &o->machine, at))
			continue;
		e = GROW(o->v, o->n, o->room);
		if (!e)
			o->v[o->n++] = c;
	}
	return e;
}

static int note(struct object *o, uint64_t resume, const struct candidate *c)
{
	if (resume == c->at || o->nfound == PAIRS_MOST || !is_start(o, resume) ||
	    !destroys_fits(&c->is, &o->machine, resume))
		return 0;
	int e = GROW(o->found, o->nfound, o->found_room);
	if (!e)
		o->found[o->nfound++] = (struct found){resume, c->at, c->is.maker};
	return e;
}

// ----------------------------------------------------------------------- ramps

// What the instruction at b takes the address of, if it is one that does; 0: none. `at`: its address.
static uint64_t taken(const uint8_t *b, size_t n, uint64_t at)
{
	int32_t far;
	if (n < LEA_BYTES || b[0] != LEA || (b[1] & 0xc7) != 5)
		return 0;
	memcpy(&far, b + 2, sizeof(far));
	return at + LEA_BYTES + (uint64_t)(int64_t)far;
}

// The same of a program that has a fixed place, and its addresses in instructions.
static uint64_t taken_as_number(const uint8_t *b, size_t n)
{
	uint32_t v = 0;
	if (n >= sizeof(v))
		memcpy(&v, b, sizeof(v));
	return v;
}

static const struct candidate *candidate_at(const struct object *o, uint64_t at)
{
	size_t i = at ? FIRST_NOT(o->n, k, o->v[k].at < at) : o->n;
	return i < o->n && o->v[i].at == at ? &o->v[i] : NULL;
}

// The address of `c` is taken at b[i]: what else is, nearby?
static int look_around(struct object *o, const uint8_t *b, size_t n, size_t i, uint64_t at,
		       const struct candidate *c)
{
	size_t from = i > NEAR ? i - NEAR : 0, to = i + NEAR < n ? i + NEAR : n;
	int e = 0;
	for (size_t k = from; k < to && !e; k++) {
		uint64_t near = taken(b + k, n - k, at + k);
		if (near)
			e = note(o, near, c);
		near = o->fixed ? taken_as_number(b + k, n - k) : 0;
		if (near && !e)
			e = note(o, near, c);
	}
	return e;
}

static int read_ramps_of(struct object *o, const struct piece *p)
{
	int e = 0;
	for (uint64_t done = 0; done < p->bytes && !e;) {
		size_t n;
		const uint8_t *b = view(o, p->at + done, VIEW_BYTES, &n);
		for (size_t i = 0; i < n && !e; i++) {
			const struct candidate *c = candidate_at(o, taken(b + i, n - i, p->at + done + i));
			if (!c && o->fixed)
				c = candidate_at(o, taken_as_number(b + i, n - i));
			if (c && !c->is.resume)
				e = look_around(o, b, n, i, p->at + done, c);
		}
		if (n <= 2 * NEAR)
			break;
		done += n - 2 * NEAR; // what stands at the end is seen once more, with what is around it
	}
	return e;
}

// -------------------------------------------------------------- whole ramps

static bool is_function(void *ctx, uint64_t at)
{
	const struct piece *p = piece_at(ctx, at);
	return p && p->code && is_start(ctx, at);
}

// Does it store a state itself, or say that it has come to its last suspension?
static int stores_state(struct object *o, uint64_t resume, bool *does)
{
	const struct pair p = {.resume = resume,
			       .maker = PAIR_CLANG,
			       .codes = {{resume, end_of(o, resume) - resume}},
			       .ncodes = 1};
	const struct dispatch_code code = {peek, o};
	struct dispatch d;
	int e = dispatch_learn(&d, &p, &code);
	*does = !e && d.known && d.n;
	dispatch_deinit(&d);
	return e;
}

static int on_object(void *ctx, const struct ramps_object *made)
{
	struct object *o = ctx;
	bool does = false;
	int e = 0;
	for (size_t i = 0; i < made->nzeros && !does && !e; i++) {
		const struct destroys d = {.maker = PAIR_CLANG, .index = made->zeros[i]};
		if (made->first != made->second && destroys_fits(&d, &o->machine, made->first))
			e = stores_state(o, made->first, &does);
	}
	if (!does || e || o->nfound == PAIRS_MOST)
		return e;
	e = GROW(o->found, o->nfound, o->found_room);
	if (!e)
		o->found[o->nfound++] = (struct found){made->first, made->second, PAIR_CLANG};
	return e;
}

// A function that takes the addresses of two others.
static int read_whole(struct object *o, uint64_t start)
{
	uint64_t bytes = end_of(o, start) - start;
	const struct ramps r = {is_function, on_object, o};
	size_t n = bytes < RAMP_MOST ? (size_t)bytes : RAMP_MOST;
	uint8_t *code = malloc(n + 1);
	if (!code)
		return -ENOMEM;
	int e = ramps_read(&r, code, peek(o, start, code, n), start);
	free(code);
	return e;
}

static int read_functions(struct object *o)
{
	int e = 0;
	for (size_t i = 0; i < o->nstarts && !e; i++) {
		uint64_t at = o->starts[i], bytes = end_of(o, at) - at;
		const struct piece *p = piece_at(o, at);
		size_t n, taking = 0;
		if (!p || !p->code || bytes > RAMP_MOST)
			continue;
		const uint8_t *b = view(o, at, (size_t)bytes, &n);
		n = n < bytes ? n : (size_t)bytes;
		for (size_t k = 0; k < n && taking < 2; k++) {
			uint64_t to = taken(b + k, n - k, at + k);
			taking += (to && is_function(o, to)) ||
				  (o->fixed && is_function(o, taken_as_number(b + k, n - k)));
		}
		if (taking == 2)
			e = read_whole(o, at);
	}
	return e;
}

static int find_pairs(struct object *o)
{
	int e = 0;
	bool any = false;
	for (size_t i = 0; i < o->n && !e; i++) {
		struct destroys *d = &o->v[i].is;
		size_t had = o->nfound;
		e = d->resume ? note(o, d->resume, &o->v[i]) : 0;
		if (o->nfound == had)
			d->resume = 0;
		any |= !d->resume;
	}
	for (size_t i = 0; i < o->npieces && any && !e; i++)
		if (o->pieces[i].code)
			e = read_ramps_of(o, &o->pieces[i]);
	return e ? e : read_functions(o);
}

// ------------------------------------------------------------------------ all

// Were its functions compiled from C++, or from what else has exceptions?
static bool may_have_coroutines(Elf *elf)
{
	size_t names;
	if (elf_getshdrstrndx(elf, &names))
		return false;
	for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
		GElf_Shdr head;
		const char *name = gelf_getshdr(s, &head) ? elf_strptr(elf, names, head.sh_name) : NULL;
		if (name && !strcmp(name, ".gcc_except_table"))
			return true;
	}
	return false;
}

static void read_pieces(struct object *o, Elf *elf)
{
	size_t n;
	GElf_Phdr h;
	if (elf_getphdrnum(elf, &n))
		return;
	for (size_t i = 0; i < n && o->npieces < PIECES_MOST; i++)
		if (gelf_getphdr(elf, (int)i, &h) && h.p_type == PT_LOAD)
			o->pieces[o->npieces++] =
				(struct piece){h.p_vaddr + o->bias, h.p_offset, h.p_filesz, h.p_flags & PF_X};
}

static int by_resume(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	if (x->destroy != y->destroy)
		return x->destroy < y->destroy ? -1 : 1;
	return x->resume < y->resume ? -1 : x->resume > y->resume;
}

static int add_pairs(struct pairs *p, struct object *o, uint32_t module)
{
	int e = 0;
	if (o->nfound)
		qsort(o->found, o->nfound, sizeof(*o->found), by_resume);
	for (size_t i = 0; i < o->nfound && !e; i++) {
		const struct found *f = &o->found[i];
		if (i && !by_resume(f - 1, f))
			continue;
		e = GROW(p->v, p->n, p->room);
		if (!e)
			p->v[p->n++] = (struct pair){.resume = f->resume,
						     .destroy = f->destroy,
						     .maker = f->maker,
						     .by_code = true,
						     .codes = {{f->resume, end_of(o, f->resume) - f->resume}},
						     .ncodes = 1,
						     .module = module};
	}
	return e;
}

static int read_object(struct object *o, Elf *elf, int fd, uint64_t bias)
{
	GElf_Ehdr head;
	o->bytes = malloc(VIEW_BYTES);
	if (!o->bytes)
		return -ENOMEM;
	o->fd = fd;
	o->bias = bias;
	if (!gelf_getehdr(elf, &head) || head.e_machine != EM_X86_64)
		return 0;
	o->fixed = head.e_type == ET_EXEC;
	o->machine.peek = peek;
	o->machine.ctx = o;
	read_pieces(o, elf);
	int e = ehframe_starts(elf, &o->starts, &o->nstarts);
	for (size_t i = 0; i < o->nstarts; i++)
		o->starts[i] += bias;
	return e;
}

int stripped_add(struct pairs *p, Elf *elf, const struct pairs_module *m, uint64_t bias)
{
	if (!may_have_coroutines(elf))
		return 0;
	struct object *o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	int e = read_object(o, elf, m->fd, bias);
	if (!e)
		e = find_candidates(o);
	if (!e)
		e = find_pairs(o);
	if (!e)
		e = add_pairs(p, o, m->number);
	free(o->starts);
	free(o->v);
	free(o->found);
	free(o->bytes);
	free(o);
	return e;
}
