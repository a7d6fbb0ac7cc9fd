// SPDX-License-Identifier: MIT
//
// A coroutine's frame is allocated by a call of operator new, in the code that also stores the addresses of
// the two functions that the compiler made of it. Only objects whose symbol table names such functions are
// looked at, and only their own calls come here: each entry holds the function that it led to before,
// whoever's that is, and a call goes on to it. Nobody else's operator new, nor the call of anybody who looks
// its name up, is touched.
//
// A call that may allocate a frame is told by the code around it: it names two other places in the code of
// its object. One that does so for another reason costs a row of the table, in which nobody looks for it.
#include "preload/process/births.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/syscall.h>

#include "cpu.h"
#include "entry.h"
#include "ctp/births.h"
#include "preload/guest/exit.h"
#include "preload/guest/guest.h"
#include "preload/guest/page.h"
#include "preload/guest/real.h"
#include "preload/patch/object.h"
#include "preload/process/destroyed.h"
#include "preload/process/has_coroutines.h"
#include "preload/process/opened.h"
#include "preload/process/redirect.h"

enum {
	SITES = 1024,
	FRAME_LEAST = 17, // two functions, and where it is: rounded up, three words
	FRAME_MOST = 1 << 20,
	BEFORE = 1024, // code that is looked at: a loop keeps addresses that it needs each time
	BEHIND = 512,
	ROWS = PAGE_BYTES / sizeof(struct ctp_birth), // in a page
	PAGES = CTP_BIRTHS_MAX / ROWS,
};

// ------------------------------------------------------------ which calls

// A call of operator new, by where it returns to: whether it makes frames. Entered once each.
static struct site {
	uint64_t pc;
	uint32_t known, makes;
} sites[SITES];
static uint32_t with_rows[PAGES / 32]; // the pages of the table that have rows: others are not memory

struct code {
	struct object o;
	uint64_t found; // a place in the code that is named
	bool two;
};

// A word of the object's that it can read.
static bool word(const struct code *c, uint64_t at, uint64_t *out)
{
	for (unsigned i = 0; at % 8 == 0 && i < c->o.nph; i++) {
		const ElfW(Phdr) *p = &c->o.ph[i];
		if (p->p_type == PT_LOAD && (p->p_flags & PF_R) &&
		    at - (c->o.base + p->p_vaddr) + 8 <= p->p_filesz) {
			memcpy(out, (const void *)at, sizeof(*out));
			return true;
		}
	}
	return false;
}

static void named(struct code *c, uint64_t at)
{
	if (!object_in_code(&c->o, at))
		return;
	c->two |= c->found && c->found != at;
	c->found = at;
}

#if defined(__x86_64__)
// Four bytes that may be the last ones of an instruction: an address relative to what follows, of a place, or
// of a word that holds one; or, in a program that is not position-independent, an address.
static void operand(struct code *c, const uint8_t *p)
{
	enum { LEA = 0x8d, RIP = 0x05, RIP_MASK = 0xc7 };
	int32_t value;
	uint64_t held;
	memcpy(&value, p, sizeof(value));
	uint64_t at = (uint64_t)p + 4 + (uint64_t)(int64_t)value;
	if ((p[-1] & RIP_MASK) == RIP && p[-2] == LEA)
		named(c, at);
	else if ((p[-1] & RIP_MASK) == RIP && word(c, at, &held))
		named(c, held);
	else if (!c->o.base && value > 0)
		named(c, (uint64_t)value);
}
#else
static void operand(struct code *c, const uint8_t *p)
{
	(void)c;
	(void)p;
}
#endif

static bool makes_frames(uint64_t pc)
{
	struct dl_find_object found;
	struct code c = {.found = 0};
	uint8_t *lo, *hi;
	if (_dl_find_object((void *)pc, &found) || !object_read(&c.o, found.dlfo_link_map))
		return false;
	for (unsigned i = 0; object_code(&c.o, &i, &lo, &hi);) {
		if (pc - (uint64_t)lo >= (uint64_t)(hi - lo))
			continue;
		const uint8_t *at = (const uint8_t *)pc, *from = at - lo > BEFORE ? at - BEFORE : lo + 2,
			      *to = hi - at > BEHIND ? at + BEHIND : hi;
		for (const uint8_t *p = from; p + 4 <= to && !c.two; p++)
			operand(&c, p);
	}
	return c.two;
}

static bool site_makes(uint64_t pc)
{
	uint64_t i = (pc * 0x9e3779b97f4a7c15ULL) >> 54;
	for (unsigned n = 0; n < 8; n++, i = (i + 1) % SITES) {
		struct site *s = &sites[i];
		uint64_t is = ctp_load64(&s->pc);
		if (is == pc)
			return ctp_load32(&s->known) && s->makes;
		if (is || !ctp_cas64(&s->pc, 0, pc))
			continue;
		s->makes = makes_frames(pc);
		ctp_store32(&s->known, 1);
		return s->makes;
	}
	return false;
}

// --------------------------------------------------------------- the table

static uint64_t page_of(const struct ctp_birth *row)
{
	return (uint64_t)(row - ctp_tracer->region.births) / ROWS;
}

static struct ctp_birth *group_of(uint64_t at)
{
	struct ctp_region *r = &ctp_tracer->region;
	return r->births_max == CTP_BIRTHS_MAX ? r->births + ctp_births_group(at, r->births_max) : NULL;
}

// One that has this key, and is ours now.
static struct ctp_birth *taken(struct ctp_birth *v, uint64_t key)
{
	for (unsigned i = 0; i < CTP_BIRTHS_GROUP; i++)
		if (ctp_load64(&v[i].at) == key && ctp_key_take_from(&v[i].at, key))
			return &v[i];
	return NULL;
}

static void take_row(struct thread_ctx *g, struct ctp_birth *v, uint64_t at, const struct frame *f)
{
	uint64_t page = page_of(v);
	struct ctp_birth *b = taken(v, at); // of a frame that ended unseen
	b = b ? b : taken(v, 0);
	if (!b) {
		ctp_add32(&ctp_tracer->region.ext->frames, 1);
		return;
	}
	b->created = guest_now();
	b->creator = guest_who(g);
	b->stack = guest_stack(g, f);
	b->thread = g->slot;
	ctp_store64(&b->at, at);
	ctp_or32(&with_rows[page / 32], 1u << page % 32);
	ctp_or32(&ctp_tracer->region.ext->born, 1);
}

static void made(uint64_t at, uint64_t bytes, const struct frame *f)
{
	if (!at || bytes < FRAME_LEAST || bytes > FRAME_MOST || !ctp_load32(&ctp_tracer->attached) ||
	    !site_makes(f->pc))
		return;
	struct thread_ctx *g = guest_enter();
	if (!g)
		return;
	struct ctp_birth *v = group_of(at);
	if (v)
		take_row(g, v, at, f);
	guest_leave(g);
}

static void ended(uint64_t at, const struct frame *f)
{
	struct ctp_birth *v = at && ctp_load32(&ctp_tracer->attached) ? group_of(at) : NULL;
	uint64_t page = v ? page_of(v) : 0;
	if (!v || !(ctp_load32(&with_rows[page / 32]) >> page % 32 & 1))
		return;
	for (unsigned i = 0; i < CTP_BIRTHS_GROUP; i++)
		if (ctp_load64(&v[i].at) == at) {
			destroyed_note(&v[i], at, f);
			ctp_store64(&v[i].at, 0);
		}
}

// ----------------------------------------------------------------- the calls

// By the names that the Itanium C++ ABI gives them.
#define NEWS(X) \
	X(_Znwm, (size_t n), (n)) \
	X(_ZnwmRKSt9nothrow_t, (size_t n, const void *tag), (n, tag)) \
	X(_ZnwmSt11align_val_t, (size_t n, size_t align), (n, align)) \
	X(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t n, size_t align, const void *tag), (n, align, tag))
#define DELETES(X) \
	X(_ZdlPv, (void *p), (p)) \
	X(_ZdlPvm, (void *p, size_t n), (p, n)) \
	X(_ZdlPvSt11align_val_t, (void *p, size_t align), (p, align)) \
	X(_ZdlPvmSt11align_val_t, (void *p, size_t n, size_t align), (p, n, align))

#define NEW(name, parameters, arguments) \
	static void *(*behind##name)parameters; \
	static void *by##name parameters \
	{ \
		struct frame f; \
		void *p = behind##name arguments; \
		CPU_CALLER(&f); \
		made((uint64_t)p, n, &f); \
		return p; \
	}
#define DELETE(name, parameters, arguments) \
	static void(*behind##name) parameters; \
	static void by##name parameters \
	{ \
		struct frame f; \
		CPU_CALLER(&f); \
		ended((uint64_t)p, &f); \
		behind##name arguments; \
	}
NEWS(NEW)
DELETES(DELETE)

static const struct call {
	const char *name;
	void *hook, *slot;
	bool is_new;
} calls[] = {
#define ROW_NEW(name, parameters, arguments) {#name, (void *)by##name, &behind##name, true},
#define ROW_DELETE(name, parameters, arguments) {#name, (void *)by##name, &behind##name, false},
	NEWS(ROW_NEW) DELETES(ROW_DELETE)};

static bool called[sizeof(calls) / sizeof(calls[0])]; // by the object that is gone through

static size_t call_of(const char *name)
{
	bool mangled = name[0] == '_' && name[1] == 'Z'; // nearly no name is
	size_t i = mangled ? 0 : sizeof(calls) / sizeof(calls[0]);
	while (i < sizeof(calls) / sizeof(calls[0]) && strcmp(calls[i].name, name) != 0)
		i++;
	return i;
}

static bool note_call(const char *name, struct real_hook *h)
{
	size_t i = call_of(name);
	(void)h;
	if (i < sizeof(calls) / sizeof(calls[0]))
		called[i] = true;
	return false;
}

static bool hook_of(const char *name, struct real_hook *h)
{
	size_t i = call_of(name);
	bool known = i < sizeof(calls) / sizeof(calls[0]) && ctp_load_ptr((void **)calls[i].slot);
	if (known)
		*h = (struct real_hook){calls[i].hook, calls[i].slot, NULL};
	return known;
}

// They are the program's own: what each of its objects would call by these names is the same. A name that is
// not there would leave an error behind for dlerror.
static void find_behind(void)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (called[i] && !ctp_load_ptr((void **)calls[i].slot))
			ctp_store_ptr((void **)calls[i].slot, dlsym(RTLD_DEFAULT, calls[i].name));
}

static bool allocates(uint64_t base)
{
	bool any = false;
	memset(called, 0, sizeof(called));
	redirect_calls(base, note_call);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		any |= called[i] && calls[i].is_new;
	return any;
}

// -------------------------------------------------------------- which objects

static bool on;

void births_init(void)
{
	memset(with_rows, 0, sizeof(with_rows));
}

// The function that the name means to every object, whatever others it looks through first; NULL: that is not
// the same for all.
static void *sole(const char *name)
{
	void *only = NULL;
	struct object o;
	for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next) {
		if (strstr(m->l_name, "linux-vdso"))
			continue;
		if (!object_read(&o, m) || !object_tells_exports(&o))
			return NULL;
		void *is = object_export(&o, name);
		if (is && only)
			return NULL;
		only = is ? is : only;
	}
	return only;
}

static bool hook_of_sole(const char *name, struct real_hook *h)
{
	size_t i = call_of(name);
	void *is = i < sizeof(calls) / sizeof(calls[0]) ? sole(name) : NULL;
	if (!is)
		return false;
	if (!ctp_load_ptr((void **)calls[i].slot))
		ctp_store_ptr((void **)calls[i].slot, is);
	return ctp_load_ptr((void **)calls[i].slot) == is && hook_of(name, h);
}

static void relocated(bool (*is_opened)(uint64_t base))
{
	struct object o;
	for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next)
		if (is_opened(m->l_addr) && object_read(&o, m)) {
			redirect_calls(m->l_addr, hook_of_sole);
			destroyed_watch(&o);
		}
}

void births_start(void)
{
	struct object o;
	if (!CPU_PATCHES)
		return;
	opened_start(relocated);
	on = true;
	for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next) {
		bool ours = !object_read(&o, m) || (uint64_t)sites - o.start < o.end - o.start;
		if (ours || !allocates(o.base) || !has_coroutines(&o))
			continue;
		find_behind();
		redirect_calls(o.base, hook_of);
		destroyed_watch(&o);
	}
}

void births_opened(const struct object *o)
{
	if (on && allocates(o->base) && may_read() && has_coroutines(o))
		opened_note(o);
}

void births_gone(const ElfW(Dyn) * ld, uint64_t lo, uint64_t hi)
{
	opened_gone(ld, lo, hi);
	for (unsigned i = 0; i < SITES; i++)
		if (ctp_load64(&sites[i].pc) - lo < hi - lo)
			sites[i] = (struct site){0};
	destroyed_gone(lo, hi);
}
