// SPDX-License-Identifier: MIT
//
// glibc has no function that takes the lock. But dlsym holds it while it looks a name up, and if the name is
// that of an indirect function, it calls the function's resolver meanwhile. (dl_iterate_phdr holds another
// lock, under which an object may still be relocated and closed to writing; and a child that is forked
// meanwhile finds that one locked for ever, while fork gives it a new one of these.)
#include "preload/process/loader_lock.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

#include "preload/guest/guest.h"

static struct request {
	void (*fn)(void *arg);
	void *arg;
} * wanted; // of the one thread that attaches or detaches

void ctp_loader_locked(void);

static void nothing(void) {}

// Whoever else looks the name up finds a function that does nothing.
static __typeof__(&ctp_loader_locked) resolve(void)
{
	struct request *r = ctp_load_ptr((void **)&wanted);
	if (r && ctp_cas64((uint64_t *)&wanted, (uint64_t)r, 0))
		r->fn(r->arg);
	return nothing;
}

CTP_HOOK void ctp_loader_locked(void) __attribute__((ifunc("resolve")));

bool loader_lock_call(void (*fn)(void *arg), void *arg)
{
	struct dl_find_object own;
	struct request r = {fn, arg};
	void *self = _dl_find_object((void *)loader_lock_call, &own) ?
			     NULL :
			     dlopen(own.dlfo_link_map->l_name, RTLD_LAZY | RTLD_NOLOAD);
	if (!self)
		return false;
	ctp_store_ptr((void **)&wanted, &r);
	dlsym(self, "ctp_loader_locked");
	bool called = !ctp_load_ptr((void **)&wanted);
	ctp_store_ptr((void **)&wanted, NULL);
	return called;
}
