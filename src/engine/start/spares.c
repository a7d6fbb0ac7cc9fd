// SPDX-License-Identifier: MIT
//
// A forked child must not wait for ctp-run: its parent may fork again and again while ctp-run
// writes an earlier child. So it takes a region that was made before, and is followed from the
// moment when ctp-run sees that (spec/cTP.md, "Attaching"). It may have ended by then.
#include "engine/start/spares.h"

#include <unistd.h>

#include "base/clock.h"
#include "ctp/seq.h"
#include "engine/target/pidfd.h"

#define TAKING_NS 1000000000 // a child that has not mapped it by then is not to have it

void spares_offer(struct spare *sp, uint64_t *word)
{
	sp->ready = true;
	sp->taken_ns = 0;
	ctp_store64(word, CTP_ASK(0, sp->shm.fd + 1));
}

pid_t spares_taken(struct spare *sp, uint64_t *word)
{
	uint64_t is = ctp_load64(word), offered = CTP_ASK(0, sp->shm.fd + 1), now = clock_mono_ns();
	pid_t pid = (pid_t)(uint32_t)is;
	if (!sp->ready)
		return 0;
	if (is == offered) {
		sp->taken_ns = 0;
	} else if (pid && !(is >> 32)) {
		sp->ready = false;
		return pid;
	} else if (pid && !sp->taken_ns) {
		sp->taken_ns = now;
	} else if (!pid || now - sp->taken_ns > TAKING_NS || pidfd_gone(pid, -1)) {
		ctp_cas64(word, is, offered);
	}
	return 0;
}

bool spares_any_taken(const struct spare spares[CTP_SPARES], const uint64_t words[CTP_SPARES])
{
	bool any = false;
	for (unsigned i = 0; i < CTP_SPARES; i++)
		any |= spares[i].ready && (uint32_t)ctp_load64(&words[i]);
	return any;
}

void spares_deinit(struct spare spares[CTP_SPARES])
{
	for (unsigned i = 0; i < CTP_SPARES; i++) {
		if (!spares[i].ready)
			continue;
		shm_unmap(&spares[i].shm);
		close(spares[i].shm.fd);
		spares[i].ready = false;
	}
}
