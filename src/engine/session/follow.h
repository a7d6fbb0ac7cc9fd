// SPDX-License-Identifier: MIT
//
// follow.h - answers processes that request a region, and follows children that have taken one.
#pragma once

#include "engine/session/session.h"

// Answers whoever asks. To be called often: it is waited for.
void follow_answer(struct session *s);
// This process is gone: if it had asked, it does not any more.
void follow_gone(struct session *s, pid_t pid);
