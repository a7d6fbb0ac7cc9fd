// SPDX-License-Identifier: MIT
//
// Stands in for coroutine.c, emit.c, stacks.c and the rest of libctp.so: a region
// in memory of our own, threads as the test says, events that are only counted.
#include "preload/coroutine/fcontext.h"
#include "preload/coroutine/crash.h"
#include "preload/coroutine/stacks.h"
#include "preload/guest/emit.h"
#include "preload/guest/events.h"
#include "fake_guest.h"

#include <sys/mman.h>

#include "preload/guest/real.h"

struct tracer tracer;
struct tracer *ctp_tracer = &tracer;
__thread struct thread_ctx self;
__thread bool traced;

struct ctp_state *led, *co, *other;
uint64_t blockeds, blocked_ticks;
const char *blocked_in;
uint32_t blocked_stack;
uint64_t opens, closes, reopens, readies, ready_id, ready_fd, sleeps, slept;
static uint64_t clock_now;

struct thread_ctx *guest_enter(void)
{
	if (!traced || !self.guard)
		return NULL;
	self.guard = 0;
	return &self;
}

void clock_close_long(struct thread_ctx *g, uint64_t now)
{
	(void)g;
	(void)now;
}

uint64_t guest_now(void)
{
	return ctp_add64(&clock_now, 1) + 1;
}

__thread struct thread_ctx *ctp_self __attribute__((tls_model("initial-exec")));

bool coroutine_any(void)
{
	return true;
}

struct ctp_state *coroutine_search(uint64_t data)
{
	return data == LED_DATA ? led : NULL;
}

bool fake_guest_plainly;
bool fcontext_any;

struct ctp_state *fcontext_search(uint64_t data)
{
	(void)data;
	return NULL;
}

// Weak: own_stack.c may be under test.
__attribute__((weak)) uint32_t guest_stack(struct thread_ctx *g, const struct frame *f)
{
	static __thread struct candidate known[GUEST_NAMED];
	struct candidate *c = &known[f->pc % GUEST_NAMED];
	if (fake_guest_plainly && f->pc) {
		*c = (struct candidate){.pc = f->pc, .plain = f->pc, .stack = 7, .last = -2, .last_absolute = -2};
		g->named[f->pc % GUEST_NAMED] = (struct named_stack){guest_who(g), f->sp, c};
	}
	return f->pc ? 7 : 0;
}

int crash_sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	return real_sigaction(sig, act, old);
}

sighandler_t crash_signal(int sig, sighandler_t handler, sighandler_t (*real)(int, sighandler_t))
{
	return real(sig, handler);
}

void crash_notice(int flags)
{
	(void)flags;
}

void fake_guest_later(uint64_t ticks)
{
	ctp_add64(&clock_now, ticks);
}

void emit_at(struct thread_ctx *g, uint64_t now, uint64_t w1, uint64_t w2, uint64_t w3)
{
	(void)now;
	if ((w1 & 0xff) == CTP_EV_READY) {
		ctp_add64(&readies, 1);
		ready_id = w1 >> 16;
		ready_fd = w3;
	}
	if ((w1 & 0xff) == CTP_EV_SLEPT) {
		ctp_add64(&sleeps, 1);
		slept = w3;
	}
	emit(g, w1, w2, w3);
}

void emit(struct thread_ctx *g, uint64_t w1, uint64_t w2, uint64_t w3)
{
	(void)g;
	(void)w2;
	(void)w3;
	if ((w1 & 0xff) == CTP_EV_FD_OPEN)
		ctp_add64(&opens, 1);
	if ((w1 & 0xff) == CTP_EV_FD_CLOSE)
		ctp_add64(&closes, 1);
	if ((w1 & 0xffff) == (CTP_EV_FD_CLOSE | CTP_CALL_REOPENED << 8))
		ctp_add64(&reopens, 1);
}

void emit_wake(void)
{
}

void emit_unsure(struct thread_ctx *g, uint32_t thread)
{
	(void)g;
	(void)thread;
}

void *memory_take(uint64_t bytes)
{
	void *p = real_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

void fake_guest_thread(uint32_t slot, struct ctp_state *runs)
{
	self = (struct thread_ctx){.guard = 1, .slot = slot, .thread = &tracer.region.threads[slot], .current = runs,
			      .batch_fd = -1, .fds = tracer.region.fds, .fds_max = tracer.region.fds_max,
			      .ext = tracer.region.ext};
	traced = true;
	self.plain = fake_guest_plainly;
	ctp_self = fake_guest_plainly ? &self : NULL;
}

struct ctp_state *fake_guest_state(uint32_t station, enum ctp_entity entity)
{
	struct ctp_state *s = &tracer.region.states[station];
	*s = (struct ctp_state){.id = 100 + station, .entity = entity, .station = station, .life = CTP_RUNNING, .runs = 1};
	return s;
}

int fake_guest_setup(void **state)
{
	(void)state;
	static struct ctp_header layout;
	if (!layout.magic)
		ctp_region_layout(&layout, 8, 4096);
	void *base = real_mmap(NULL, layout.ext.region_bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return -1;
	memcpy(base, &layout, sizeof(layout));
	tracer.attached = 1;
	clock_now = opens = closes = reopens = readies = sleeps = 0;
	if (ctp_region_open(&tracer.region, base, layout.ext.region_bytes))
		return -1;
	co = fake_guest_state(1, CTP_COROUTINE);
	other = fake_guest_state(2, CTP_COROUTINE);
	fake_guest_thread(0, co);
	return 0;
}

int fake_guest_teardown(void **state)
{
	(void)state;
	traced = fake_guest_plainly = false;
	ctp_self = NULL;
	return real_munmap(tracer.region.base, tracer.region.bytes);
}

void fake_guest_switch(struct ctp_state *to)
{
	struct ctp_state *s = self.current;
	ctp_state_begin(s);
	s->life = CTP_SUSPENDED;
	s->since = guest_now();
	fds_suspend(&self, s);
	ctp_state_end(s);
	fds_resume(&self, to);
	to->life = CTP_RUNNING;
	to->since = guest_now();
	self.current = to;
	self.nwaits = 0;
	self.more_waits = self.eagain = false;
	self.batch_fd = -1;
}

void events_choose(void)
{
}

void events_record(struct thread_ctx *g, const struct ctp_event_info *event, const uint64_t *words, uint64_t now)
{
	(void)g;
	(void)event;
	(void)now;
	ctp_add64(&blockeds, 1);
	blocked_ticks = words[0];
	blocked_in = (const char *)(uintptr_t)words[1];
	blocked_stack = (uint32_t)words[2];
}
