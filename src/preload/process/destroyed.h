// SPDX-License-Identifier: MIT
//
// destroyed.h - frames of C++20 coroutines that are deleted while these are suspended.
#pragma once

#include <stdint.h>

#include "ctp/ctp.h"
#include "preload/guest/guest.h"
#include "preload/patch/object.h"

// An object that has coroutines: its calls come to births.c.
void destroyed_watch(const struct object *o);
// operator delete is about to be called, from *f, for what was allocated as *b says.
void destroyed_note(const struct ctp_birth *b, uint64_t at, const struct frame *f);
// An object has gone that lay there.
void destroyed_gone(uint64_t lo, uint64_t hi);
