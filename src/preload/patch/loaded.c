// SPDX-License-Identifier: MIT
//
// Follows the loader. It calls an empty function, _r_debug.r_brk, for debuggers: after an object
// was mapped and before its code runs, and after one was unmapped. That function's entry is
// patched like a switch function's. Where it is not what is expected (a debugger has put a
// breakpoint there), later objects are not looked at. An object that has gone is noted at
// once, so that another one at the same address counts as new.
//
// r_brk is called at the beginning of a dlopen, too (RT_ADD). What is there by then is not new, even if it is
// not known: its first call came before r_brk was patched, or while somebody else was here. It may have been
// relocated, and run. Only what appears between the two calls is new: the loader's lock is held all the time.
//
// In a program that runs already (ctp-run -p) a thread may stand in what is mapped, or a coroutine that a
// signal handler left there: only what live.c can patch is patched, all else that was found is noted as
// refused. r_brk returns at once: only its first byte is ever run, so all behind it is written before that.
// An attach and a detach hold the loader's lock, too (process/loader_lock.h): so all here but loaded_start
// has one thread at a time.
#include "preload/patch/loaded.h"

#include <string.h>

#include "cpu.h"
#include "entry.h"
#include "preload/guest/guest.h"
#include "preload/guest/say.h"
#include "preload/patch/live.h"
#include "preload/patch/patch.h"

enum { MOST = 2048, NAMESPACES = 16 };

struct loaded {
	const ElfW(Dyn) * ld; // NULL: none
	uint64_t lo, hi;
	bool here;
};

static struct loaded known[MOST];
static uint32_t known_count;
static struct switcher told; // where r_brk leads
static bool adding;          // all that was there when the present dlopen began is known
static bool missed;          // r_brk was called, and nobody looked
static void (*tell)(const struct object *o);
static void (*tell_gone)(const ElfW(Dyn) * ld, uint64_t lo, uint64_t hi);

// Objects that switch nothing by themselves and are in every process, or in most of the large ones.
static bool is_dull(const char *path)
{
	static const char *const dull[] = {"libc.so.6",       "libm.so.6",     "ld-linux-x86-64.so.2",
					   "linux-vdso.so.1", "libctp.so",     "libstdc++.so.6",
					   "libgcc_s.so.1",   "libcrypto.so.3"};
	const char *name = strrchr(path, '/');
	name = name ? name + 1 : path;
	for (unsigned i = 0; i < sizeof(dull) / sizeof(dull[0]); i++)
		if (strcmp(name, dull[i]) == 0)
			return true;
	return false;
}

static void look_at(const struct link_map *m, enum patch_when when)
{
	struct object o;
	struct loaded *free = NULL;
	for (uint32_t i = 0; i < known_count; i++) {
		if (known[i].ld == m->l_ld) {
			known[i].here = true;
			return;
		}
		if (!known[i].ld)
			free = &known[i];
	}
	if (!free && known_count < MOST)
		free = &known[known_count++];
	if (!free)
		return;
	*free = (struct loaded){.ld = m->l_ld, .here = true};
	if (is_dull(m->l_name) || !object_read(&o, m))
		return;
	if ((uint64_t)known - o.start < o.end - o.start) // ours, by another name
		return;
	free->lo = o.start;
	free->hi = o.end;
	if (!patch_again(&o))
		patch_object(&o, when);
	if (when == PATCH_FRESH && tell)
		tell(&o);
}

static void sweep(enum patch_when when)
{
	const struct r_debug_extended *d = (const void *)&_r_debug;
	for (uint32_t i = 0; i < known_count; i++)
		known[i].here = false;
	for (unsigned n = 0; d && n < NAMESPACES; n++) {
		for (const struct link_map *m = d->base.r_map; m; m = m->l_next)
			look_at(m, when);
		d = _r_debug.r_version > 1 ? d->r_next : NULL;
	}
	for (uint32_t i = 0; i < known_count; i++) {
		if (known[i].here || !known[i].ld)
			continue;
		patch_gone(known[i].lo, known[i].hi);
		if (tell_gone)
			tell_gone(known[i].ld, known[i].lo, known[i].hi);
		known[i].ld = NULL;
	}
	patch_close();
}

// The state of the namespace that changes; RT_CONSISTENT if none does.
static int state(void)
{
	const struct r_debug_extended *d = (const void *)&_r_debug;
	for (unsigned n = 0; d && n < NAMESPACES; n++) {
		if (d->base.r_state != RT_CONSISTENT)
			return (int)d->base.r_state;
		d = _r_debug.r_version > 1 ? d->r_next : NULL;
	}
	return RT_CONSISTENT;
}

// Instead of r_brk, on the caller's stack, with the loader's lock held.
static void changed(void)
{
	int is = state();
	if (!ctp_load32(&ctp_tracer->attached)) {
		missed = true;
		return;
	}
	if (missed && is == RT_CONSISTENT)
		adding = false;
	if (is == RT_CONSISTENT || missed)
		sweep(adding && is == RT_CONSISTENT ? PATCH_FRESH : PATCH_RUNS);
	adding = is == RT_ADD;
	missed = false;
}

static bool is_told(const uint8_t *brk, const uint8_t *entry)
{
	return memcmp(brk + 1, entry + 1, SWITCHER_ENTRY_BYTES - 1) == 0;
}

void loaded_start(void (*opened)(const struct object *o),
		  void (*gone)(const ElfW(Dyn) * ld, uint64_t lo, uint64_t hi))
{
	uint8_t entry[SWITCHER_ENTRY_BYTES];
	if (!CPU_PATCHES)
		return;
	tell = opened;
	tell_gone = gone;
	sweep(PATCH_START);
	void *brk = (void *)_r_debug.r_brk;
	told.entry = changed;
	cpu_entry(entry, &told);
	if (!cpu_is_empty(brk, SWITCHER_ENTRY_BYTES) || patch_write(brk, entry, sizeof(entry)))
		say_debug("objects that are loaded later are not looked at");
	patch_close();
}

// Under threads that may call it.
static bool tell_late(uint8_t *brk)
{
	uint8_t entry[SWITCHER_ENTRY_BYTES] = {0};
	told.entry = changed;
	cpu_entry(entry, &told);
	if (*brk == *entry && is_told(brk, entry))
		return true;
	if (!is_told(brk, entry) && !cpu_is_empty(brk, SWITCHER_ENTRY_BYTES))
		return false;
	return *brk == CPU_RETURN && !live_fetch_anew() &&
	       !patch_write(brk + 1, entry + 1, sizeof(entry) - 1) && !live_fetch_anew() &&
	       !patch_write(brk, entry, 1) && !live_fetch_anew();
}

bool loaded_start_late(void (*opened)(const struct object *o),
		       void (*gone)(const ElfW(Dyn) * ld, uint64_t lo, uint64_t hi))
{
	if (!CPU_PATCHES)
		return false;
	tell = opened;
	tell_gone = gone;
	adding = missed = false;
	bool works = tell_late((uint8_t *)_r_debug.r_brk);
	memset(known, 0, sizeof(known));
	known_count = 0;
	sweep(PATCH_RUNS);
	return works;
}

void loaded_stop_late(void)
{
	uint8_t entry[SWITCHER_ENTRY_BYTES] = {0}, *brk = (uint8_t *)_r_debug.r_brk, back = CPU_RETURN;
	if (!CPU_PATCHES || !told.entry)
		return;
	cpu_entry(entry, &told);
	if (*brk == *entry && is_told(brk, entry))
		patch_write(brk, &back, 1);
	patch_rest();
	patch_close();
}
