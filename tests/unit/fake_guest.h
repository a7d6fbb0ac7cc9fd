// SPDX-License-Identifier: MIT
//
// fake_guest.h - a guest around the hooks under test, without an engine.
#pragma once

#include "preload/coroutine/coroutine.h"
#include "preload/fds/fds.h"

extern struct tracer tracer;
extern __thread struct thread_ctx self;
extern __thread bool traced; // hooks of this thread do something
extern __thread struct thread_ctx *ctp_self; // NULL: they ask guest_enter

// What a registration with LED_DATA, which could be an address, leads to.
enum { LED_DATA = 0x5eed0000 };
extern struct ctp_state *led;
extern struct ctp_state *co, *other; // two coroutines
extern uint64_t opens, closes, reopens; // events so far
extern uint64_t readies, ready_id, ready_fd; // how many, and of the last: whom, fd | gen << 32
extern uint64_t sleeps, slept;               // how many, and for how long the last
extern uint64_t blockeds, blocked_ticks;     // how many times ctp:blocked, and of the last: for how long,
extern const char *blocked_in;               // in which call,
extern uint32_t blocked_stack;               // from where
void fake_guest_later(uint64_t ticks);       // time goes by

// For cmocka: a fresh region, in which `co` runs on thread 0.
int fake_guest_setup(void **state);
int fake_guest_teardown(void **state);
struct ctp_state *fake_guest_state(uint32_t station, enum ctp_entity entity);
// The calling thread is traced from now on, and this runs on it. fake_guest_plainly: its hooks find the thread
// themselves, and stacks are known once they have been asked for.
extern bool fake_guest_plainly;
void fake_guest_thread(uint32_t slot, struct ctp_state *runs);
// As coroutine.c does it: the running entity leaves, `to` goes on.
void fake_guest_switch(struct ctp_state *to);
