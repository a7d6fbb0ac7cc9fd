// SPDX-License-Identifier: MIT
//
// The pointers to the real functions, their names, and the look-up behind the
// lazy resolvers of arch/<cpu>/resolve.S. dlsym may allocate and free while it
// works (some allocators look names up themselves): a free that arrives while
// `free` is being looked up is dropped, once. A name that nobody offers gets a
// stub that fails with ENOSYS, not a resolver that would loop. What is of a library
// that may come and go (MAYBE) is looked for each time until it is there, also among
// those that were loaded out of everybody's sight (RTLD_LOCAL).
#include "real.h"

#include <errno.h>
#include <link.h>

#define HOOK(name) \
	extern __attribute__((visibility("hidden"))) __typeof__(name) resolve_##name; \
	__attribute__((visibility("hidden"))) __typeof__(name) *real_##name = resolve_##name;
#include "hooks.def"
#undef HOOK

static const struct {
	void *slot, *resolver;
	const char *name;
	bool maybe;
} reals[] = {
#define HOOK(name) {&real_##name, resolve_##name, #name, false},
#define MAYBE(name) {&real_##name, resolve_##name, #name, true},
#include "hooks.def"
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

// The first library that has `name`, whoever sees it; not ours.
static void *anywhere(const char *name)
{
	Dl_info own, found;
	struct link_map *m = NULL;
	void *self = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD), *p = NULL;
	if (!self || dlinfo(self, RTLD_DI_LINKMAP, &m) || !dladdr((void *)missing, &own))
		m = NULL;
	for (; m && !p; m = m->l_next) {
		void *lib = *m->l_name ? dlopen(m->l_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
		if (!lib)
			continue;
		p = dlsym(lib, name);
		if (p && (!dladdr(p, &found) || found.dli_fbase == own.dli_fbase))
			p = NULL;
		real_dlclose(lib);
	}
	if (self)
		real_dlclose(self);
	return p;
}

// Called by the resolvers with the row's number; returns where to go on.
void *real_resolve(unsigned row) __attribute__((visibility("hidden")));
void *real_resolve(unsigned row)
{
	// volatile: the headers promise that dlsym never calls back
	static __thread volatile bool looking __attribute__((tls_model("initial-exec")));
	if (looking && reals[row].slot == (void *)&real_free)
		return nothing;
	int saved = errno;
	bool outer = looking;
	looking = true;
	void *p = dlsym(RTLD_NEXT, reals[row].name);
	if (!p && reals[row].maybe)
		p = anywhere(reals[row].name);
	looking = outer;
	errno = saved;
	if (p || !reals[row].maybe)
		__atomic_store_n((void **)reals[row].slot, p ? p : missing, __ATOMIC_RELEASE);
	return p ? p : missing;
}

void real_resolve_all(void)
{
	for (unsigned row = 0; row < ROWS; row++)
		if (!reals[row].maybe || dlsym(RTLD_NEXT, reals[row].name))
			real_resolve(row);
}

void real_resolve_again(void)
{
	for (unsigned row = 0; row < ROWS; row++) {
		void **slot = reals[row].slot;
		if (!reals[row].maybe || __atomic_load_n(slot, __ATOMIC_ACQUIRE) == reals[row].resolver)
			continue;
		__atomic_store_n(slot, reals[row].resolver, __ATOMIC_RELEASE);
		real_resolve(row);
	}
}
