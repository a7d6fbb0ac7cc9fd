// SPDX-License-Identifier: MIT
//
// What a program did before is not known, and the region says so (CTP_GAP_ATTACHED): coroutines, descriptors
// and threads are discovered as they are used. No signal handler is installed, and children are not followed.
//
// Detached, the library stays mapped, as threads may stand in its hooks: each finds that it has no context,
// and passes through. Contexts made by makecontext meanwhile return through us as long as they live.
#include "preload/process/late.h"

#include <errno.h>
#include <sys/mman.h>

#include "preload/coroutine/thread.h"
#include "preload/guest/guest.h"
#include "preload/guest/real.h"
#include "preload/guest/say.h"
#include "preload/patch/loaded.h"
#include "preload/patch/patch.h"
#include "preload/process/child.h"
#include "preload/process/loader_lock.h"
#include "preload/process/opened.h"
#include "preload/process/redirect.h"

static bool stuck; // a thread had not left its hook

static void opened(bool (*is_opened)(uint64_t base))
{
	real_resolve_more();
	redirect_again(is_opened);
}

// What is opened from now on; patched engines in it, too.
static void watch_loader(void)
{
	if (ctp_tracer->region.ext->options & CTP_OPT_NO_PATCH)
		return;
	real_behind = patch_behind;
	opened_start(opened);
	if (!loaded_start_late(opened_note, opened_gone))
		say_debug("objects that are loaded later are not looked at");
}

struct attach {
	const char *path;
	int64_t result;
};

static void attach_all(void *arg)
{
	struct attach *a = arg;
	a->result = attach_late(a->path);
	if (a->result)
		return;
	ctp_or32(&ctp_tracer->region.ext->gaps, CTP_GAP_ATTACHED);
	watch_loader();
	a->result = redirect_all(true);
}

CTP_HOOK int64_t ctp_attach(const char *path)
{
	static bool forks_heard;
	int saved = errno;
	struct attach a = {path, -ENOLCK};
	stuck = stuck && !thread_release_all();
	if (stuck) {
		a.result = -EBUSY;
	} else {
		if (!forks_heard)
			child_init(""); // its children are counted; none is followed
		forks_heard = true;
		loader_lock_call(attach_all, &a);
	}
	errno = saved;
	return a.result;
}

static void detach_all(void *arg)
{
	int64_t *result = arg;
	redirect_all(false);
	loaded_stop_late();
	ctp_store32(&ctp_tracer->attached, 0);
	stuck = !thread_release_all();
	// It stays mapped. In one piece: a process may have so many mappings only, and each attach adds to
	// them.
	madvise(ctp_tracer->region.header, ctp_tracer->region.bytes, MADV_DONTDUMP);
	*result = stuck ? -EBUSY : 0;
}

CTP_HOOK int64_t ctp_detach(void)
{
	int saved = errno;
	int64_t r = stuck ? -EBUSY : 0;
	if (ctp_load32(&ctp_tracer->attached) && !loader_lock_call(detach_all, &r))
		r = -ENOLCK;
	errno = saved;
	return r;
}
