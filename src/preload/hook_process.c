// SPDX-License-Identifier: MIT
//
// Children. A forked child runs untraced: its thread areas and the tracer's
// page are wiped by the kernel. Only the parent notes that there is somebody
// who shares its descriptors. vfork is a trampoline (arch/<cpu>/trampoline.S).
#include "hook.h"

CTP_HOOK pid_t fork(void)
{
	pid_t r = real_fork();
	struct guest *g = r > 0 ? hook_enter() : NULL;
	if (g) {
		ctp_add32(&ctp_tracer->region.ext->forks, 1);
		guest_leave(g);
	}
	return r;
}
