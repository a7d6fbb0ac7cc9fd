// SPDX-License-Identifier: MIT
//
// left_unread.h - that a coroutine waits for F is not sure, but bytes of F stay unread, and nothing can tell
// it of them.
#pragma once

#include "analyze/case/pass.h"

// That it read some of F, and left the rest, is all that speaks for F.
bool left_unread_only(const struct suspect *s);
// Is it suspended where none ever went on from, or coroutines wait for descriptors of their own?
bool left_unread_place(const struct suspect *s);
// o is weak. SUSPECT, or nothing.
enum verdict left_unread_conclude(const struct suspect *s, const struct obligations *o);
