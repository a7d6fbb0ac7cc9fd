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
#include "preload/process/opened.h"
#include "preload/process/redirect.h"

static bool stuck; // a thread has not left its hook

// What is opened from now on; patched engines in it, too.
static void watch_loader(void)
{
	if (ctp_tracer->region.ext->options & CTP_OPT_NO_PATCH)
		return;
	real_behind = patch_behind;
	if (!loaded_start_late(opened_note, opened_gone))
		say_debug("objects that are loaded later are not looked at");
}

CTP_HOOK int64_t ctp_attach(const char *path)
{
	int saved = errno;
	int64_t r = stuck ? -EBUSY : attach_late(path);
	if (!r) {
		ctp_or32(&ctp_tracer->region.ext->gaps, CTP_GAP_ATTACHED);
		watch_loader();
		r = redirect_all(true);
	}
	errno = saved;
	return r;
}

CTP_HOOK int64_t ctp_detach(void)
{
	int saved = errno;
	if (ctp_load32(&ctp_tracer->attached)) {
		redirect_all(false);
		loaded_stop_late();
		ctp_store32(&ctp_tracer->attached, 0);
		stuck = !thread_release_all();
		// It stays mapped. In one piece: a process may have so many mappings only, and each attach
		// adds to them.
		madvise(ctp_tracer->region.header, ctp_tracer->region.bytes, MADV_DONTDUMP);
	}
	errno = saved;
	return stuck ? -EBUSY : 0;
}
