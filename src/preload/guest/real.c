// SPDX-License-Identifier: MIT
//
// Pointers to the real functions, their names, and the look-up behind the lazy resolvers of
// arch/<cpu>/resolve.S. dlsym may allocate and free while it works (some allocators look names
// up themselves): a free that arrives while `free` is being looked up is dropped, once. A name
// that no library has gets a stub that fails with ENOSYS, not a resolver that would loop. A
// function of a library that may come and go (MAYBE) is looked up each time until it is
// visible to everybody; until then each caller gets the function that it would have without
// us: that of its own module, or of a library that only this module has loaded (RTLD_LOCAL).
#include "preload/guest/real.h"

#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/single_threaded.h>

#include "cpu.h"

#define HOOK(name) \
	extern __attribute__((visibility("hidden"))) __typeof__(name) resolve_##name; \
	__attribute__((visibility("hidden"))) __typeof__(name) *real_##name = resolve_##name;
#include "preload/guest/hooks.def"
#undef HOOK

static const struct {
	void *slot, *resolver;
	const char *name;
	bool maybe, stays;
} reals[] = {
#define HOOK(name) {&real_##name, resolve_##name, #name, false, false},
#define MAYBE(name) {&real_##name, resolve_##name, #name, true, false},
#define STAYS(name) {&real_##name, resolve_##name, #name, false, true},
#include "preload/guest/hooks.def"
#undef HOOK
};

enum { ROWS = sizeof(reals) / sizeof(reals[0]) };

static long missing(void)
{
	errno = ENOSYS;
	return -1;
}

static void nothing(void *p)
{
	(void)p;
}

// What a module finds by a name that is not for everybody. Written once, then
// published by `fn`; a library that goes takes its entries with it.
static struct seen {
	void *fn;
	uint64_t lo, hi; // the module that calls
	unsigned row;
} seen[64];
static uint32_t seen_count;

static void *seen_by(unsigned row, uint64_t caller)
{
	for (unsigned i = 0; i < sizeof(seen) / sizeof(seen[0]); i++) {
		void *fn = ctp_load_ptr(&seen[i].fn);
		if (fn && seen[i].row == row && caller - seen[i].lo < seen[i].hi - seen[i].lo)
			return fn;
	}
	return NULL;
}

// In the scope of the module that calls, as its own relocation would have found it.
static void *in_scope_of(unsigned row, uint64_t caller)
{
	struct dl_find_object o;
	Dl_info own, found;
	if (_dl_find_object((void *)caller, &o) || !dladdr((void *)missing, &own))
		return NULL;
	void *lib = dlopen(o.dlfo_link_map->l_name, RTLD_LAZY | RTLD_NOLOAD);
	void *p = lib ? dlsym(lib, reals[row].name) : NULL;
	if (lib)
		real_dlclose(lib);
	if (!p || !dladdr(p, &found) || found.dli_fbase == own.dli_fbase)
		return NULL;
	uint32_t i = ctp_add32(&seen_count, 1);
	if (i < sizeof(seen) / sizeof(seen[0])) {
		seen[i].lo = (uint64_t)o.dlfo_map_start;
		seen[i].hi = (uint64_t)o.dlfo_map_end;
		seen[i].row = row;
		ctp_store_ptr(&seen[i].fn, p);
	}
	return p;
}

// Names of which glibc keeps an older function as well. Before 2.36, dlsym(RTLD_NEXT)
// finds that one; the programs mean these.
static const struct {
	const char *name, *version;
} renewed[] = {
	{"pthread_cond_timedwait", "GLIBC_2.3.2"},
	{"pthread_cond_wait", "GLIBC_2.3.2"},
	{"quick_exit", "GLIBC_2.24"},
};

void *(*real_behind)(void *fn);

static bool late; // loaded by dlopen: nothing is behind us, but we are in nobody's way either

static bool own(const void *p)
{
	struct dl_find_object us, it;
	return !_dl_find_object((void *)missing, &us) && !_dl_find_object((void *)p, &it) &&
	       us.dlfo_link_map == it.dlfo_link_map;
}

static void *next(const char *name)
{
	void *p = NULL, *where = late ? RTLD_DEFAULT : RTLD_NEXT;
	for (unsigned i = 0; !p && i < sizeof(renewed) / sizeof(renewed[0]); i++)
		if (strcmp(renewed[i].name, name) == 0)
			p = dlvsym(where, name, renewed[i].version);
	p = p ? p : dlsym(where, name);
	p = p && late && own(p) ? NULL : p;
	return p && real_behind ? real_behind(p) : p;
}

void real_loaded_late(void)
{
	late = true;
}

enum { HOOK_BUCKETS = 512 };
static uint16_t hook_rows[HOOK_BUCKETS]; // row + 1 by name, probed one after the other
static void *hooks[ROWS];

static unsigned bucket_of(const char *name)
{
	unsigned h = 5381;
	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h % HOOK_BUCKETS;
}

static void index_hooks(void)
{
	struct dl_find_object o;
	_Static_assert(ROWS < HOOK_BUCKETS / 2, "room between them");
	void *self = _dl_find_object((void *)missing, &o) ?
			     NULL :
			     dlopen(o.dlfo_link_map->l_name, RTLD_LAZY | RTLD_NOLOAD);
	for (unsigned row = 0; self && row < ROWS; row++) {
		void *p = dlsym(self, reals[row].name);
		unsigned at = bucket_of(reals[row].name);
		if (!p || !own(p))
			continue;
		while (hook_rows[at])
			at = (at + 1) % HOOK_BUCKETS;
		hooks[row] = p;
		hook_rows[at] = (uint16_t)(row + 1);
	}
}

bool real_hook_of(const char *name, struct real_hook *h)
{
	if (!hooks[0])
		index_hooks();
	for (unsigned at = bucket_of(name); hook_rows[at]; at = (at + 1) % HOOK_BUCKETS) {
		unsigned row = hook_rows[at] - 1u;
		if (strcmp(reals[row].name, name) != 0)
			continue;
		*h = (struct real_hook){hooks[row], reals[row].slot, reals[row].resolver};
		return true;
	}
	return false;
}

// Called by the resolvers with the row's number and the program's return address;
// returns where to go on.
void *real_resolve(unsigned row, uint64_t caller) __attribute__((visibility("hidden")));
void *real_resolve(unsigned row, uint64_t caller)
{
	// volatile: the headers promise that dlsym never calls back
	static __thread volatile bool looking __attribute__((tls_model("initial-exec")));
	if (looking && reals[row].slot == (void *)&real_free)
		return nothing;
	void *p = reals[row].maybe ? seen_by(row, caller) : NULL;
	if (p)
		return p;
	int saved = errno;
	bool outer = looking;
	looking = true;
	p = next(reals[row].name);
	if (p || !reals[row].maybe)
		ctp_store_ptr((void **)reals[row].slot, p ? p : missing);
	else
		p = in_scope_of(row, caller);
	looking = outer;
	errno = saved;
	return p ? p : missing;
}

void *real_for(void *slot, const void *caller)
{
	void *fn = ctp_load_ptr((void **)slot);
	if ((uint64_t)fn - (uint64_t)reals[0].resolver >
	    (uint64_t)reals[ROWS - 1].resolver - (uint64_t)reals[0].resolver)
		return fn; // resolved: resolve.S has them in the order of the rows
	for (unsigned row = 0; row < ROWS; row++)
		if (reals[row].slot == slot && reals[row].resolver == fn)
			return real_resolve(row, (uint64_t)caller);
	return fn;
}

void real_resolve_all(void)
{
	for (unsigned row = 0; row < ROWS; row++)
		if (!reals[row].maybe || next(reals[row].name))
			real_resolve(row, 0);
}

void real_resolve_more(void)
{
	for (unsigned row = 0; row < ROWS; row++)
		if (reals[row].maybe && ctp_load_ptr((void **)reals[row].slot) == reals[row].resolver &&
		    next(reals[row].name))
			real_resolve(row, 0);
}

uint64_t real_turn;

void real_resolve_again(void)
{
	ctp_add64(&real_turn, 1);
	for (unsigned i = 0; i < sizeof(seen) / sizeof(seen[0]); i++)
		ctp_store_ptr(&seen[i].fn, NULL);
	for (unsigned row = 0; row < ROWS; row++) {
		void **slot = reals[row].slot;
		if (!reals[row].maybe || ctp_load_ptr(slot) == reals[row].resolver)
			continue;
		void *p = next(reals[row].name);
		ctp_store_ptr(slot, p ? p : reals[row].resolver);
	}
}

uint32_t real_found(void)
{
	uint32_t n = 0;
	for (unsigned row = 0; row < ROWS; row++) {
		const void *fn = ctp_load_ptr((void **)reals[row].slot);
		n += fn != reals[row].resolver && fn != (void *)missing;
	}
	return n;
}

// Where our own code lies.
static bool own_text(const struct dl_find_object *o, uint64_t *lo, uint64_t *bytes)
{
	const ElfW(Ehdr) *eh = o->dlfo_map_start;
	const ElfW(Phdr) *ph = (const void *)((const char *)eh + eh->e_phoff);
	for (int i = 0; i < eh->e_phnum; i++, ph++) {
		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		uint64_t start = o->dlfo_link_map->l_addr + ph->p_vaddr;
		*lo = start & ~4095ULL;
		*bytes = start + ph->p_memsz - *lo;
		return true;
	}
	return false;
}

void real_bypass(void)
{
	struct dl_find_object o;
	uint64_t lo, bytes;
	if (!__libc_single_threaded || _dl_find_object((void *)real_bypass, &o) || !own_text(&o, &lo, &bytes))
		return;
	void *self = dlopen(o.dlfo_link_map->l_name, RTLD_LAZY | RTLD_NOLOAD);
	if (!self || real_mprotect((void *)lo, bytes, PROT_READ | PROT_WRITE | PROT_EXEC))
		return;
	for (unsigned row = 0; row < ROWS; row++) {
		void *entry = dlsym(self, reals[row].name);
		bool ours = entry && (uint64_t)entry - lo < bytes;
		if (ours && !reals[row].stays) // dlclose looks MAYBE rows up again
			cpu_jump_through(entry, reals[row].slot);
	}
	real_mprotect((void *)lo, bytes, PROT_READ | PROT_EXEC);
}
