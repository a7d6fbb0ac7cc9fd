// SPDX-License-Identifier: MIT
//
// The loader tells of an object before it relocates it (patch/loaded.c), so its entries cannot be written
// then. (From glibc 2.41 on, afterwards: then they are written at once.) The first code of it that runs is
// its DT_INIT function, which the C compiler's start files give to every object: until then the word that
// names it names one of ours. The first of these that is called writes the entries of all objects that are
// new, gives each its own function's name back, and goes on with that function. All runs with the loader's
// lock held, on the thread that loads.
//
// An object without such a function is redirected when the next one is opened.
#include "preload/process/opened.h"

#include <errno.h>
#include <string.h>

#include "preload/guest/guest.h"
#include "preload/guest/page.h"
#include "preload/process/redirect.h"

typedef void init_fn(int argc, char **argv, char **env);

enum { MOST = 64 };

static struct opened {
	uint64_t base;
	const ElfW(Dyn) * ld; // NULL: it has gone
	ElfW(Dyn) * entry;    // DT_INIT; NULL: it has none that can be written
	uint64_t was;
	struct redirect_relro closed;
} opened[MOST];
static unsigned nopened;
static void (*relocated)(bool (*is_opened)(uint64_t base));

void opened_start(void (*then)(bool (*is_opened)(uint64_t base)))
{
	relocated = then;
}

static bool is_opened(uint64_t base)
{
	for (unsigned i = 0; i < nopened; i++)
		if (opened[i].ld && opened[i].base == base)
			return true;
	return false;
}

static void finish(void)
{
	for (unsigned i = 0; i < nopened; i++)
		if (opened[i].ld && opened[i].entry)
			redirect_write(&opened[i].closed, &opened[i].entry->d_un.d_ptr, opened[i].was);
	if (nopened)
		relocated(is_opened);
	nopened = 0;
}

static void begin(unsigned i, int argc, char **argv, char **env)
{
	const struct opened o = opened[i];
	int saved = errno;
	finish();
	errno = saved;
	init_fn *own;
	uint64_t at = o.base + o.was;
	memcpy(&own, &at, sizeof(own));
	own(argc, argv, env);
}

#define ONE(n) \
	static void begin_##n(int argc, char **argv, char **env) \
	{ \
		begin(n, argc, argv, env); \
	}
#define EIGHT(X, d) X(d##0) X(d##1) X(d##2) X(d##3) X(d##4) X(d##5) X(d##6) X(d##7)
#define ALL(X) \
	EIGHT(X, 0) EIGHT(X, 01) EIGHT(X, 02) EIGHT(X, 03) EIGHT(X, 04) EIGHT(X, 05) EIGHT(X, 06) EIGHT(X, 07)
ALL(ONE)
#define NAME(n) begin_##n,
static init_fn *const begins[MOST] = {ALL(NAME)};

// The word that names its DT_INIT function, if that can be written before the object is relocated.
static ElfW(Dyn) * entry_of(const struct object *o)
{
	ElfW(Dyn) *found = NULL;
	uint64_t at = (uint64_t)o->map->l_ld;
	for (unsigned i = 0; i < o->nph; i++) {
		const ElfW(Phdr) *p = &o->ph[i];
		if (p->p_type == PT_LOAD && (p->p_flags & PF_W) && at - (o->base + p->p_vaddr) < p->p_filesz)
			found = o->map->l_ld;
	}
	for (ElfW(Dyn) *d = found; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_INIT)
			return d;
	return NULL;
}

void opened_note(const struct object *o)
{
	if (nopened == MOST)
		return;
	ElfW(Dyn) *entry = entry_of(o);
	bool done = entry && !page_writable((uint64_t)entry / PAGE_BYTES);
	if (done)
		entry = NULL;
	opened[nopened] = (struct opened){.base = o->base,
					  .ld = o->map->l_ld,
					  .entry = entry,
					  .was = entry ? entry->d_un.d_ptr : 0,
					  .closed = redirect_relro(o->base, o->ph, o->nph)};
	if (entry)
		entry->d_un.d_ptr = (uint64_t)begins[nopened] - o->base;
	nopened++;
	if (done)
		finish();
}

void opened_gone(const ElfW(Dyn) * ld, uint64_t lo, uint64_t hi)
{
	(void)lo;
	(void)hi;
	for (unsigned i = 0; i < nopened; i++)
		if (opened[i].ld == ld)
			opened[i].ld = NULL;
	while (nopened && !opened[nopened - 1].ld)
		nopened--;
}
