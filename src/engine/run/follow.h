// SPDX-License-Identifier: MIT
//
// follow.h - answers processes that request a region, and writes children that have ended.
#pragma once

#include "engine/run/session.h"

// Answers whoever asks. To be called often: it is waited for.
void follow_answer(struct session *s);
// Writes and forgets the children that are gone.
void follow_reap(struct session *s);
// Writes and forgets the children that no signal may go to: they go on untraced.
void follow_detach(struct session *s);
// This process is gone: if it had asked, it does not any more.
void follow_gone(struct session *s, pid_t pid);
