// SPDX-License-Identifier: MIT
//
// incident.h - posts what went wrong at an instant (struct ctp_incident).
#pragma once

#include "preload/guest/guest.h"

// Between hook_enter and guest_leave. The caller fills rule, who, stack, and what
// the rule has in other, fd and value (spec/cTP.md); fd is -1 where there is none.
// Until a coroutine was seen, nothing is noted.
struct ctp_incident *incident_note(struct thread_ctx *g, struct ctp_incident *i);
