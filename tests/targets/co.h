// SPDX-License-Identifier: MIT
//
// co.h - a coroutine library as people write them, for the target programs:
// one context each, a loop over an epoll set that may be run by one thread
// or by several (then a coroutine goes on wherever its event was taken). The
// engine, the way to switch, is the program's choice, else $CO_ENGINE.
//
// Nobody but the kernel keeps a pointer to a coroutine that waits: no list, no
// run queue, and the context to go back to lies in co_resume's own frame.
#pragma once

#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline))

typedef void co_fn(void *arg);

enum co_stack { CO_MMAP, CO_HEAP, CO_ONE }; // CO_ONE: control block and stack in one mapping

union co_context {
	ucontext_t uc;
	sigjmp_buf jump;
	void *fcontext;
};

struct co;
struct co_engine {
	const char *name;
	void (*make)(struct co *c); // c->stack, c->bytes; will begin in co_body(c)
	void (*swap)(struct co *c, union co_context *from, union co_context *to); // c is entered or left
	void (*leave)(union co_context *to);                                      // for good
};
extern const struct co_engine co_ucontext, co_sjlj;
extern const struct co_engine *co_engine; // of coroutines made from now on
bool co_choose(const char *name);         // "ucontext", "sjlj", "fcontext", "sigalt"; false if not there

struct co {
	union co_context own;
	union co_context *back; // where a yield goes
	const struct co_engine *engine;
	co_fn *fn;
	void *arg;
	char *stack;
	size_t bytes;
	enum co_stack kind;
	bool done;
	bool pinned; // static or pooled: never freed by the loop
	int fd;      // what the scheduler shall register on its behalf; -1 = nothing
	int ep;
	uint32_t events;
	pthread_mutex_t lock; // held while it runs
};

extern enum co_stack co_kind;         // of coroutines made from now on
extern bool co_scheduler_registers;   // waits are registered after the switch, by the scheduler
extern void (*co_parked)(struct co *); // called by the scheduler after each suspension
extern unsigned long co_switches;     // all threads; exact
void co_count(void);                  // one more
_Noreturn void co_body(struct co *c); // what it does from its begin to its end

struct co *co_new(co_fn *fn, void *arg);
void co_init(struct co *c, co_fn *fn, void *arg, char *stack, size_t bytes);
void co_free(struct co *c);
void co_start(co_fn *fn, void *arg); // makes one and runs it to its first wait
void co_resume(struct co *c);        // frees it when it is done
void co_resume_from(struct co *c, union co_context *back); // the same, with the resumer's context kept there
struct co *co_self(void);
void co_yield(void);

void co_watch(int ep, int fd, uint32_t events, struct co *c); // ADD or MOD, data.ptr = c
void co_wait(int ep, int fd, uint32_t events);                // registers and yields
bool co_blocked(ssize_t r);                                   // r is -1 because of EAGAIN
ssize_t co_read(int ep, int fd, void *buf, size_t n);
ssize_t co_write(int ep, int fd, const void *buf, size_t n);

// Rows whose data is not a coroutine: data.ptr points to one of these, in
// static storage.
struct co_handler {
	uint64_t tag; // CO_HANDLER
	void (*fn)(struct co_handler *h, uint32_t events);
	int fd;
};
#define CO_HANDLER 0x72656c646e61682dULL
void co_handle(int ep, struct co_handler *h, uint32_t events);

bool co_turn(int ep, int timeout_ms); // one epoll_wait and what came of it; false on EINTR
_Noreturn void co_loop(int ep);
pthread_t co_thread(void *(*fn)(void *), void *arg);
pthread_t co_loop_thread(int *ep);
