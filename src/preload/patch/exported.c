// SPDX-License-Identifier: MIT
//
// Some libraries call their own switch function by its name, through the procedure linkage table: Ruby, Coro,
// ldc's druntime, SystemC; and everybody who uses Boost.Context from 1.87 on calls functions of
// C++ that jump to hidden ones. The stand-ins of these names (arch/<cpu>/transfer.S) go through an
// instance, as a patched entry does, so that the switches are seen where nothing was patched: by
// --no-patch, or because threads were there already. How such a function is called is known by its code,
// as ever: a body that is no row's is passed on to, unseen. A function whose entry is patched is
// gone to by that instance, which knows what lies behind it.
#include "preload/patch/exported.h"

#include <link.h>
#include <string.h>

#include "cpu.h"
#include "entry.h"
#include "preload/guest/guest.h"
#include "preload/guest/real.h"
#include "preload/patch/match.h"
#include "preload/patch/object.h"
#include "preload/patch/patch.h"

_Static_assert(offsetof(struct switcher, caller) == SWITCHER_CALLER, "assembly code reads it");
_Static_assert(offsetof(struct switcher, turn) == SWITCHER_TURN, "assembly code reads it");

#define BOOST "Boost.Context 1.87"

enum { INSTANCES = 64 };

static struct switcher nobody;
struct switcher *exported_now[EXPORTED_NAMES] = {&nobody, &nobody, &nobody, &nobody, &nobody,
						 &nobody, &nobody, &nobody, &nobody};

extern __typeof__(make_fcontext) exported_make __attribute__((visibility("hidden")));

static const struct {
	void *slot;
	const char *kind; // of those that jump to a hidden function
	void (*entry)(void);
} names[EXPORTED_NAMES] = {
	// in the order of the stand-ins
	{&real_coro_transfer, NULL, NULL},
	{&real_coroutine_transfer, NULL, NULL},
	{&real_fiber_switchContext, NULL, NULL},
	{&real_qt_abort, NULL, NULL},
	{&real_qt_block, NULL, NULL},
	{&real_qt_blocki, NULL, NULL},
	{&real__ZN5boost7context6detail13jump_fcontextEPvS2_, BOOST, exported_jump},
	{&real__ZN5boost7context6detail13make_fcontextEPvmPFvNS1_10transfer_tEE, BOOST,
	 (void (*)(void))exported_make},
	{&real__ZN5boost7context6detail14ontop_fcontextEPvS2_PFNS1_10transfer_tES3_E, BOOST, exported_ontop},
};

static struct {
	struct switcher s;
	uint32_t state; // 0 free, 1 being made, 2 made
	unsigned name;
} made[INSTANCES];

static void to_entry(struct switcher *s, void *fn)
{
	memcpy(&s->entry, &fn, sizeof(fn));
}

// Of a body that is known. Else calls go on as they came.
static void take_row(struct switcher *s, void *fn, const struct dl_find_object *o)
{
	const struct switcher_row *r = match_at(fn, o->dlfo_map_end);
	if (!r)
		return;
	s->entry = patch_trampoline(r->family);
	s->bytes = r->bytes;
	s->sp_at = r->sp_at;
	s->pc_at = r->pc_at;
	s->family = r->family;
	s->row = r;
}

static void fill(struct switcher *s, unsigned at, void *fn)
{
	struct dl_find_object o;
	struct object object;
	*s = (struct switcher){0};
	memcpy(&s->real, &fn, sizeof(fn));
	to_entry(s, fn);
	if (_dl_find_object(fn, &o))
		return;
	if (!names[at].entry)
		take_row(s, fn, &o);
	else if (!patch_within((uint64_t)o.dlfo_map_start, (uint64_t)o.dlfo_map_end))
		s->entry = names[at].entry;
	if ((s->row || s->entry == names[at].entry) && object_read(&object, o.dlfo_link_map))
		s->function = patch_note_interposed(&object, fn, s->row ? s->row->kind : names[at].kind);
}

// Nobody can be in a function that is not mapped any more.
static bool is_free(unsigned i)
{
	struct dl_find_object o;
	void *fn;
	uint32_t state = ctp_load32(&made[i].state);
	memcpy(&fn, &made[i].s.real, sizeof(fn));
	return state == 0 || (state == 2 && _dl_find_object(fn, &o));
}

static struct switcher *instance_of(unsigned at, void *fn)
{
	for (unsigned i = 0; i < INSTANCES; i++)
		if (ctp_load32(&made[i].state) == 2 && made[i].name == at &&
		    memcmp(&made[i].s.real, &fn, sizeof(fn)) == 0)
			return &made[i].s;
	for (unsigned i = 0; i < INSTANCES; i++) {
		uint32_t was = ctp_load32(&made[i].state);
		if (!is_free(i) || !ctp_cas32(&made[i].state, was, 1))
			continue;
		made[i].name = at;
		fill(&made[i].s, at, fn);
		ctp_store32(&made[i].state, 2);
		return &made[i].s;
	}
	return NULL;
}

struct exported exported_find(unsigned at, uint64_t caller)
{
	void *fn = real_for(names[at].slot, (const void *)caller);
	if (!ctp_tracer->attached) // perhaps not yet
		return (struct exported){NULL, fn};
	struct switcher *s = patch_instance(fn);
	if (!s)
		s = instance_of(at, fn);
	if (s) {
		s->turn = ctp_load64(&real_turn);
		ctp_store64(&s->caller, caller);
		ctp_store_ptr((void **)&exported_now[at], s);
	}
	return (struct exported){s, fn};
}
