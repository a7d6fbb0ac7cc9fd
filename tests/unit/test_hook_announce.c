// SPDX-License-Identifier: MIT
//
// What the program tells of its coroutines (hook_announce.c, own_stack.c), under a fake guest: who runs, who
// resumed whom, numbers of changes, waits, and calls in a wrong order.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctp/coroutine.h>

#include "fake_guest.h"
#include "preload/coroutine/announced.h"
#include "preload/coroutine/bad_resume.h"
#include "preload/coroutine/stacks.h"
#include "preload/guest/emit.h"
#include "preload/guest/modules.h"

enum { MADE_FROM = 3, BYTES = 256, FD = 5 };

const struct candidate stacks_none;
static uint32_t made, switches, retired, deaths, destroyed, late, behind;
static struct emit_switch last;
static uint64_t frame[4][BYTES / 8];
static ctp_coroutine a, b, c;

struct ctp_state *station_new(enum ctp_entity entity)
{
	struct ctp_state *s = fake_guest_state(MADE_FROM + made++, entity);
	s->station = MADE_FROM + made - 1;
	s->nwaits = 0;
	return s;
}

struct ctp_state *station_at(uint32_t number)
{
	return &tracer.region.states[number - 1];
}

uint32_t station_count(void)
{
	return tracer.region.stations_max;
}

void station_retire(struct ctp_state *s)
{
	(void)s;
	retired++;
}

void coroutine_name_native(struct thread_ctx *g)
{
	(void)g;
	fail();
}

void coroutine_count_death(struct thread_ctx *g, struct ctp_state *s, enum ctp_life life)
{
	(void)g, (void)s, (void)life;
	deaths++;
}

void coroutine_destroy(struct thread_ctx *g, struct ctp_state *s, enum ctp_how how, uint64_t seen)
{
	(void)g, (void)seen;
	assert_int_equal(how, CTP_HOW_RELEASED);
	s->life = CTP_DESTROYED;
	destroyed++;
}

void coroutine_index(struct thread_ctx *g, struct ctp_state *s)
{
	(void)g, (void)s;
}

void coroutine_note_any(void) {}

void bad_resume_announced(struct thread_ctx *g, const struct ctp_state *s)
{
	(void)g, (void)s;
	late++;
}

void modules_note_pc(uint64_t pc)
{
	(void)pc;
}

// None has been met before.
static struct candidate *no_candidates[1 << (64 - STACKS_SHIFT)];
struct candidate **stacks_buckets = no_candidates;

uint32_t stacks_id(const struct frame *f, uint64_t top, uint64_t *at)
{
	(void)f, (void)top, (void)at;
	return 9;
}

bool coroutine_native_has(const struct thread_ctx *g, uint64_t sp)
{
	return sp <= g->native_top && g->native_top - sp < COROUTINE_NATIVE_REACH;
}

uint32_t stacks_behind(uint64_t pc, uint32_t callers)
{
	behind = callers;
	return pc ? 100 + callers : 0;
}

uint64_t cpu_on_private(struct thread_ctx *g, uint64_t (*f)(void *), void *arg)
{
	(void)g;
	return f(arg);
}

void emit_switch_slow(struct thread_ctx *g, const struct emit_switch *s)
{
	(void)g;
	switches++;
	last = *s;
}

static int setup(void **state)
{
	int r = fake_guest_setup(state);
	ctp_self = NULL;
	made = switches = retired = deaths = destroyed = late = behind = 0;
	self.thread->near = UINT64_MAX; // each switch by emit_switch_slow
	self.current = self.native = other;
	other->entity = CTP_NATIVE;
	memset(frame, 0, sizeof(frame));
	a = b = c = (ctp_coroutine){0};
	a.memory = frame[0];
	b.memory = frame[1];
	c.memory = frame[2];
	a.bytes = b.bytes = c.bytes = BYTES;
	return r;
}

static void tell(ctp_coroutine *of, unsigned what)
{
	struct ctp_coroutine_made m = {frame, &frame[0], 0};
	m.promise = (const char *)of->memory + 16;
	m.promise_bytes = 64;
	ctp_coroutine_note(of, what, 0,
			   what == CTP_COROUTINE_CREATED ? (const void *)&m : (const void *)0x4000);
}

static struct ctp_state *of(const ctp_coroutine *x)
{
	return &tracer.region.states[x->station];
}

static void life(void **state)
{
	(void)state;
	tell(&a, CTP_COROUTINE_CREATED);
	assert_int_equal(of(&a)->life, CTP_CREATED);
	assert_int_equal(of(&a)->source, CTP_SOURCE_PROGRAM);
	assert_int_equal(of(&a)->lo, (uint64_t)frame[0]);
	assert_int_equal(of(&a)->hi, (uint64_t)frame[0] + BYTES);
	tell(&a, CTP_COROUTINE_RESUMED);
	assert_ptr_equal(self.current, of(&a));
	assert_int_equal(other->life, CTP_SUSPENDED);
	assert_int_equal(other->regs[CTP_REG_SP], 0); // none of its stack is dead
	tell(&a, CTP_COROUTINE_SUSPENDED);
	assert_ptr_equal(self.current, other);
	assert_int_equal(of(&a)->life, CTP_SUSPENDED);
	assert_int_equal(of(&a)->stack, 100);
	assert_int_equal(of(&a)->changes, 2);
	tell(&a, CTP_COROUTINE_RESUMED);
	tell(&a, CTP_COROUTINE_ENDED);
	assert_int_equal(of(&a)->life, CTP_FINISHED);
	assert_int_equal(switches, 4);
	assert_int_equal(last.how, CTP_HOW_RETURN);
	assert_int_equal(retired + deaths, 2);
	tell(&a, CTP_COROUTINE_DESTROYED); // its frame goes
	assert_int_equal(destroyed, 0);
}

// One resumes another; the switch back goes to who resumed it.
static void nested(void **state)
{
	(void)state;
	tell(&a, CTP_COROUTINE_RESUMED); // discovered
	assert_true(of(&a)->flags & CTP_STATE_FOREIGN);
	tell(&b, CTP_COROUTINE_CREATED);
	tell(&b, CTP_COROUTINE_RESUMED);
	assert_int_equal(of(&a)->life, CTP_SUSPENDED);
	tell(&b, CTP_COROUTINE_SUSPENDED);
	assert_ptr_equal(self.current, of(&a));
	assert_int_equal(of(&a)->life, CTP_RUNNING);
}

// The stack of one that is awaited goes on with that of its awaiter, if the promise says who that is.
static void awaited(void **state)
{
	(void)state;
	tell(&a, CTP_COROUTINE_CREATED);
	tell(&a, CTP_COROUTINE_RESUMED);
	tell(&b, CTP_COROUTINE_CREATED);
	tell(&c, CTP_COROUTINE_CREATED);
	tell(&a, CTP_COROUTINE_SUSPENDED);
	tell(&c, CTP_COROUTINE_RESUMED);
	tell(&c, CTP_COROUTINE_SUSPENDED);
	assert_int_equal(behind, 0); // made by a, but nothing says that a awaits it
	assert_int_equal(of(&c)->link, 0);
	frame[1][3] = (uint64_t)frame[0];
	tell(&b, CTP_COROUTINE_RESUMED);
	tell(&b, CTP_COROUTINE_SUSPENDED);
	assert_int_equal(behind, 100);
	assert_int_equal(of(&b)->stack, 200);
	assert_int_equal(of(&b)->link, (uint64_t)frame[0]);
}

static void wrong(void **state)
{
	(void)state;
	tell(&a, CTP_COROUTINE_DESTROYED); // nobody knows it
	assert_int_equal(made, 0);
	tell(&a, CTP_COROUTINE_SUSPENDED); // without having been resumed
	assert_int_equal(of(&a)->life, CTP_SUSPENDED);
	assert_int_equal(switches, 2);
	tell(&a, CTP_COROUTINE_RESUMED);
	tell(&a, CTP_COROUTINE_RESUMED);
	assert_int_equal(switches, 3);
	tell(&b, CTP_COROUTINE_RESUMED);
	tell(&a, CTP_COROUTINE_SUSPENDED); // b, above it, never said that it left
	assert_ptr_equal(self.current, other);
	assert_int_equal(of(&b)->life, CTP_SUSPENDED);
	tell(&b, CTP_COROUTINE_ENDED);
	assert_ptr_equal(self.current, other);
	assert_int_equal(of(&b)->life, CTP_FINISHED);
	uint32_t before = switches;
	tell(&b, CTP_COROUTINE_ENDED);
	tell(&b, CTP_COROUTINE_RESUMED);
	assert_int_equal(switches, before);
	assert_int_equal(late, 1);
	tell(&a, CTP_COROUTINE_DESTROYED);
	assert_int_equal(destroyed, 1);
	ctp_coroutine moved = a; // not the words that it was made with: another one
	tell(&moved, CTP_COROUTINE_RESUMED);
	assert_int_not_equal(moved.id, a.id);
}

static void waits(void **state)
{
	(void)state;
	tracer.region.fds[FD].gen = 3;
	tracer.region.fds[FD].life = CTP_FD_OPEN;
	tell(&a, CTP_COROUTINE_RESUMED);
	ctp_coroutine_note(&a, CTP_COROUTINE_SUSPENDED, ctp_coroutine_how_(CTP_REASON_WRITE, FD),
			   (void *)0x4000);
	assert_int_equal(of(&a)->reason, CTP_REASON_WRITE);
	assert_int_equal(of(&a)->nwaits, 1);
	assert_int_equal(of(&a)->waits[0].fd, FD);
	assert_int_equal(of(&a)->waits[0].gen, 3);
	assert_int_equal(of(&a)->waits[0].events, EPOLLOUT);
	assert_int_equal(of(&a)->waits[0].how, CTP_WAIT_DECLARED);
	tell(&a, CTP_COROUTINE_RESUMED);
	ctp_coroutine_note(&a, CTP_COROUTINE_SUSPENDED, ctp_coroutine_how_((ctp_reason)77, -1),
			   (void *)0x4000);
	assert_int_equal(of(&a)->reason, CTP_REASON_NONE);
	assert_int_equal(of(&a)->nwaits, 0);
}

// Hooks are called on the stack of who resumed it.
static void own_stack(void **state)
{
	(void)state;
	struct frame here = {1, 0x7000, 0}, far = {1, 0x9000, 0};
	self.native_top = 0x8000;
	tell(&a, CTP_COROUTINE_RESUMED);
	tell(&b, CTP_COROUTINE_RESUMED);
	assert_int_equal(guest_stack(&self, &here), 9);
	assert_int_equal(guest_stack(&self, &far), 0);
	co->lo = 0x8800;
	co->hi = 0xa000;
	state_private(of(&a))->resumer = announced_hint(co);
	assert_int_equal(guest_stack(&self, &here), 0);
	assert_int_equal(guest_stack(&self, &far), 9);
	state_private(of(&a))->resumer = announced_hint(of(&b)); // a circle
	assert_int_equal(guest_stack(&self, &far), 0);
}

// A forked child, or garbage: the words lead to somebody else's state.
static void strangers(void **state)
{
	(void)state;
	a.station = 1ULL << 50;
	a.id = 7;
	tell(&a, CTP_COROUTINE_RESUMED);
	assert_int_equal(of(&a)->id, a.id);
	b.station = a.station;
	b.id = a.id;
	tell(&b, CTP_COROUTINE_RESUMED);
	assert_int_not_equal(b.station, a.station);
}

// ------------------------------------------------------------- as nearly always

enum { SLOTS = 64 };
static struct ctp_record ring[SLOTS];

// From here on records have room.
static void open_ring(void)
{
	if (!CPU_HAS_TSC)
		skip();
	ctp_self = &self;
	self.ring = ring;
	self.ring_mask = SLOTS - 1;
	self.ring_capacity = SLOTS;
	self.anew_fd = -1;
	self.thread->near = 0;
	self.thread->until = self.thread->head + SLOTS;
}

static void suspend_for(ctp_coroutine *of, int fd, uint64_t at)
{
	ctp_coroutine_note(of, CTP_COROUTINE_SUSPENDED, ctp_coroutine_how_(CTP_REASON_READ, fd), (void *)at);
}

// The long way asks the fake guest for the time.
static bool was_short(const ctp_coroutine *x)
{
	return of(x)->since > 1000;
}

// Resumes and suspends, one in another and each alone, for a descriptor and for none; at last by the short way.
static void some(bool quick, struct ctp_state *out)
{
	tracer.region.fds[FD].gen = 3;
	tracer.region.fds[FD].life = CTP_FD_OPEN;
	tell(&a, CTP_COROUTINE_CREATED);
	tell(&b, CTP_COROUTINE_CREATED);
	for (int i = 0; i < 4; i++) {
		if (i == 2 && quick)
			open_ring();
		tell(&a, CTP_COROUTINE_RESUMED);
		assert_true(was_short(&a) == (i >= 2 && quick));
		tell(&b, CTP_COROUTINE_RESUMED);
		assert_true(was_short(&b) == (i >= 2 && quick));
		suspend_for(&b, FD, 0x4000);
		assert_true(was_short(&b) == (i >= 2 && quick));
		suspend_for(&a, -1, 0x4000);
		assert_true(was_short(&a) == (i >= 2 && quick));
	}
	memcpy(out, tracer.region.states, 8 * sizeof(*out));
	for (int i = 0; i < 8; i++)
		out[i].since = out[i].created = 0;
}

// What the short way writes is what the long one does.
static void same(void **state)
{
	static struct ctp_state one[8], other_way[8];
	some(false, one);
	assert_int_equal(fake_guest_teardown(state), 0);
	assert_int_equal(setup(state), 0);
	some(true, other_way);
	assert_int_equal(self.thread->head, 8);
	assert_ptr_equal(self.current, other);
	for (int i = 0; i < 8; i++)
		assert_memory_equal(&one[i], &other_way[i], sizeof(one[i]));
	// the last: a suspends, back to the thread's own stack
	const struct ctp_record *r = &ring[7];
	assert_int_equal(r->w0 & 0xff, CTP_EV_SHORT + CTP_HOW_SWAP);
	assert_int_equal(r->w1 & CTP_SHORT_MASK, other->id);
	assert_int_equal(r->w1 >> CTP_SHORT_BITS & ((1 << CTP_SHORT_STACK_BITS) - 1), of(&a)->stack);
	assert_int_equal(r->w1 >> (CTP_SHORT_BITS + CTP_SHORT_STACK_BITS), other->changes);
}

// By the long way: 1, else 0. One change, one record.
static uint32_t long_way(const ctp_coroutine *x, unsigned what, uint64_t at)
{
	uint64_t records = self.thread->head + switches, changes = of(x)->changes;
	ctp_coroutine_note((ctp_coroutine *)(uintptr_t)x, what, ctp_coroutine_how_(CTP_REASON_NONE, -1), (void *)at);
	assert_int_equal(of(x)->changes, changes + 1);
	assert_int_equal(self.thread->head + switches, records + 1);
	return !was_short(x);
}

static void ready(void)
{
	tell(&a, CTP_COROUTINE_CREATED);
	tell(&a, CTP_COROUTINE_RESUMED);
	tell(&a, CTP_COROUTINE_SUSPENDED);
	open_ring();
	assert_int_equal(long_way(&a, CTP_COROUTINE_RESUMED, 0x4000), 0);
}

// Whatever is not as nearly always takes the long way.
static void unusual(void **state)
{
	(void)state;
	ready();
	assert_int_equal(long_way(&a, CTP_COROUTINE_SUSPENDED, 0x5000), 1); // from elsewhere
	self.eagain = true;						    // to be told of when it suspends
	assert_int_equal(long_way(&a, CTP_COROUTINE_RESUMED, 0x5000), 1);
	self.never = true; // no counter of time
	assert_int_equal(long_way(&a, CTP_COROUTINE_SUSPENDED, 0x5000), 1);
	self.slice = 0;
	self.thread->until = self.thread->head; // the ring is full
	assert_int_equal(long_way(&a, CTP_COROUTINE_RESUMED, 0x5000), 1);
	self.thread->until += SLOTS;
	other->thread = 1; // the resumer is not the one that waits here
	assert_int_equal(long_way(&a, CTP_COROUTINE_SUSPENDED, 0x5000), 1);
	other->thread = 0;
	of(&a)->changes = CTP_TOLD - 1; // a count to be told in full
	assert_int_equal(long_way(&a, CTP_COROUTINE_RESUMED, 0x5000), 1);
	self.thread->near = CTP_NEAR_UNSURE;
	assert_int_equal(long_way(&a, CTP_COROUTINE_SUSPENDED, 0x5000), 1);
	self.thread->near = 0;
	self.batch_fd = FD; // an event in hand, for who waits
	self.batch = true;
	assert_int_equal(long_way(&a, CTP_COROUTINE_RESUMED, 0x5000), 1);
}

// At a high rate one reading of the clock does for several; a window that has become long is told of by the long way.
static void seldom(void **state)
{
	(void)state;
	ready();
	self.clock_next = self.clock_mask = 3;
	self.clock = 1001;
	assert_int_equal(self.thread->head, 1);
	assert_int_equal(long_way(&a, CTP_COROUTINE_SUSPENDED, 0x4000), 0);
	assert_int_equal(of(&a)->since, 1003);
	assert_int_equal(long_way(&a, CTP_COROUTINE_RESUMED, 0x4000), 0);
	assert_int_equal(of(&a)->since, 1005);
	assert_ptr_equal(self.window[1], of(&a));
	assert_ptr_equal(self.window[2], other);
	of(&a)->late = 40;
	assert_int_equal(long_way(&a, CTP_COROUTINE_SUSPENDED, 0x4000), 0);
	assert_int_equal(of(&a)->late, 0);
	assert_int_equal(self.thread->head, 4); // a reading is due, and the last is long ago
	assert_int_equal(long_way(&a, CTP_COROUTINE_RESUMED, 0x4000), 1);
	assert_int_equal(long_way(&a, CTP_COROUTINE_SUSPENDED, 0x4000), 0);
	of(&a)->thread = 1; // whom another thread left is entered with one
	assert_int_equal(long_way(&a, CTP_COROUTINE_RESUMED, 0x4000), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(life, setup, fake_guest_teardown),
		cmocka_unit_test_setup_teardown(nested, setup, fake_guest_teardown),
		cmocka_unit_test_setup_teardown(awaited, setup, fake_guest_teardown),
		cmocka_unit_test_setup_teardown(wrong, setup, fake_guest_teardown),
		cmocka_unit_test_setup_teardown(waits, setup, fake_guest_teardown),
		cmocka_unit_test_setup_teardown(own_stack, setup, fake_guest_teardown),
		cmocka_unit_test_setup_teardown(strangers, setup, fake_guest_teardown),
		cmocka_unit_test_setup_teardown(same, setup, fake_guest_teardown),
		cmocka_unit_test_setup_teardown(unusual, setup, fake_guest_teardown),
		cmocka_unit_test_setup_teardown(seldom, setup, fake_guest_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
