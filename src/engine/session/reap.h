// SPDX-License-Identifier: MIT
//
// reap.h - writes children that have ended, and forgets them.
#pragma once

#include "engine/session/session.h"

// Writes and forgets the children that are gone.
void reap_ended(struct session *s);
// Writes and forgets the children that no signal may go to: they go on untraced.
void reap_detach(struct session *s);
