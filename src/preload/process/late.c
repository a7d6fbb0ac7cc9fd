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
#include "preload/process/redirect.h"

static bool stuck; // a thread has not left its hook

CTP_HOOK int64_t ctp_attach(const char *path)
{
	int saved = errno;
	int64_t r = stuck ? -EBUSY : attach_late(path);
	if (!r) {
		ctp_or32(&ctp_tracer->region.ext->gaps, CTP_GAP_ATTACHED);
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
		ctp_store32(&ctp_tracer->attached, 0);
		stuck = !thread_release_all();
		// It stays mapped. In one piece: a process may have so many mappings only, and each attach
		// adds to them.
		madvise(ctp_tracer->region.header, ctp_tracer->region.bytes, MADV_DONTDUMP);
	}
	errno = saved;
	return stuck ? -EBUSY : 0;
}
