// SPDX-License-Identifier: MIT
//
// The pointers to the real functions, their names, and the look-up behind the
// lazy resolvers of arch/<cpu>/resolve.S. dlsym may allocate and free while it
// works (some allocators look names up themselves): a free that arrives while
// `free` is being looked up is dropped, once. A name that nobody offers gets a
// stub that fails with ENOSYS, not a resolver that would loop.
#include "real.h"

#include <errno.h>

#define HOOK(name) \
	extern __attribute__((visibility("hidden"))) __typeof__(name) resolve_##name; \
	__attribute__((visibility("hidden"))) __typeof__(name) *real_##name = resolve_##name;
#include "hooks.def"
#undef HOOK

static const struct {
	void *slot;
	const char *name;
} reals[] = {
#define HOOK(name) {&real_##name, #name},
#include "hooks.def"
#undef HOOK
};

static long missing(void)
{
	errno = ENOSYS;
	return -1;
}

static void nothing(void *p)
{
	(void)p;
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
	looking = outer;
	errno = saved;
	if (!p)
		p = missing;
	__atomic_store_n((void **)reals[row].slot, p, __ATOMIC_RELEASE);
	return p;
}

void real_resolve_all(void)
{
	for (unsigned row = 0; row < sizeof(reals) / sizeof(reals[0]); row++)
		real_resolve(row);
}
