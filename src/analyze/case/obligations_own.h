// SPDX-License-Identifier: MIT
//
// obligations_own.h - what the files of obligations.h share.
#pragma once

#include "analyze/case/obligations.h"

static inline void say(struct obligations *o, enum proof p, enum holds holds, const char *text)
{
	o->items[p] = (struct obligation){holds, text};
}

// What the witness saw.
static inline enum holds seen(const struct suspect *s, enum proof p)
{
	return s->witness ? s->witness->items[p].holds : HOLDS_OPEN;
}

// P2 of a descriptor that ended.
void obligations_wait(struct obligations *o, const struct suspect *s);
// Is it certain that it waits for the descriptor? It stands where events of it resumed it, and EAGAIN told it
// to wait; or it registered it, and was told so or has nobody else to be woken by that. Who was told nothing
// may have been served by what nobody saw (stdio, a raw system call), or have registered it for others, and
// stand in a pool.
bool obligations_told(const struct suspect *s);
