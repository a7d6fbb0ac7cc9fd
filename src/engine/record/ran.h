// SPDX-License-Identifier: MIT
//
// ran.h - which coroutine ran in a thread at a time: for what is recorded from outside the program, with the
// thread, the time and the stack pointer.
#pragma once

#include "engine/record/writer.h"

struct ran;

struct ran *ran_new(const struct ctp_region *const *region); // NULL: no memory
void ran_free(struct ran *r);
// The switches of a batch, in the order in which they come.
void ran_see(struct ran *r, const struct writer_batch *b);
// Who ran in the thread then: an entity, as the switches before and after tell, and where they are closer
// than `slack`, the stack on which `sp` lies. 0: the thread has made no switch. All times are ticks.
uint64_t ran_at(struct ran *r, uint32_t tid, uint64_t time, uint64_t slack, uint64_t sp);
// Nobody will ask for what was before this any more.
void ran_forget(struct ran *r, uint64_t before);
