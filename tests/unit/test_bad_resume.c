// SPDX-License-Identifier: MIT
//
// What is entered although it runs, has ended or lost its stack (bad_resume.c),
// under a fake guest: `other` is the thread's own, `co` the one entered.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cpu.h"
#include "preload/coroutine/bad_resume.h"
#include "fake_guest.h"
#include "preload/coroutine/stack_index.h"
#include "preload/guest/real.h"
#include "preload/coroutine/stacks.h"

enum { BYTES = 64 << 10, STACK = 9 };

const char ctp_coroutine_returned[1];
static struct ctp_state *there; // whose the memory is
static uint32_t stack_now;

struct ctp_state *stack_index_stack(uint64_t addr)
{
	(void)addr;
	return there;
}

uint32_t stacks_id(const struct frame *f, uint64_t top, uint64_t *last)
{
	(void)f, (void)top, (void)last;
	return stack_now;
}

static const struct ctp_incident *incident(unsigned rule)
{
	for (uint32_t i = 0; i < tracer.region.incidents_max; i++)
		if (tracer.region.incidents[i].ready == CTP_CAND_READY &&
		    tracer.region.incidents[i].rule == rule)
			return &tracer.region.incidents[i];
	return NULL;
}

static int setup(void **state)
{
	int r = fake_guest_setup(state);
	void *p = real_mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	tracer.pid = (uint32_t)getpid();
	self.current = other;
	other->stack = 5;
	co->lo = (uint64_t)p;
	co->hi = co->lo + BYTES;
	co->regs[CTP_REG_SP] = co->hi - 4096;
	co->regs[CTP_REG_PC] = 0x1234;
	co->slot = 0x5000;
	co->stack = STACK;
	co->thread = 1;
	there = co;
	stack_now = STACK;
	self.late.who = co;
	self.late.sp = co->regs[CTP_REG_SP];
	self.late.pc = co->regs[CTP_REG_PC];
	self.late.slot = co->slot;
	return r || p == MAP_FAILED;
}

static int teardown(void **state)
{
	real_munmap((void *)co->lo, BYTES);
	return fake_guest_teardown(state);
}

// ------------------------------------------------------------- runs elsewhere

static struct ctp_thread *elsewhere(void)
{
	struct ctp_thread *t = &tracer.region.threads[1];
	co->life = CTP_RUNNING;
	t->life = CTP_THREAD_LIVE;
	t->tid = (uint32_t)syscall(SYS_gettid);
	t->current = co->id;
	return t;
}

static void runs_elsewhere(void **state)
{
	(void)state;
	struct ctp_thread *t = elsewhere();
	bad_resume_find(&self, co);
	const struct ctp_incident *i = incident(10);
	assert_non_null(i);
	assert_int_equal(i->who, co->id);
	assert_int_equal(i->stack, 5);
	assert_int_equal(i->value[1], other->id);
	assert_int_equal(i->value[2], t->tid);
	assert_int_equal(i->flags, 0);
	assert_int_equal(self.thread->finished, 0);
}

static void runs_elsewhere_as_far_as_is_known(void **state)
{
	(void)state;
	struct ctp_thread *t = elsewhere();
	t->lost = 1;
	ctp_or32(&tracer.region.ext->gaps, CTP_GAP_BLIND);
	bad_resume_find(&self, co);
	assert_null(incident(10)); // it may have left by the switch that was missed
	t->lost = 0;
	co->life = CTP_RUNNING;
	bad_resume_find(&self, co);
	assert_non_null(incident(10)); // another thread missed one
}

static void runs_no_more(void **state)
{
	(void)state;
	struct ctp_thread *t = elsewhere();
	t->life = CTP_THREAD_DEAD;
	bad_resume_find(&self, co);
	t->life = CTP_THREAD_LIVE;
	t->current = other->id;
	bad_resume_find(&self, co);
	t->current = co->id;
	t->tid = INT32_MAX; // gone, and nobody heard of it
	bad_resume_find(&self, co);
	assert_null(incident(10));
}

// A thread that sleeps says itself where it stands.
static void sleeps_elsewhere(void **state)
{
	(void)state;
	struct ctp_thread *t = elsewhere();
	t->wait_seq = 3;
	t->wait_regs[CTP_REG_SP] = co->lo - 4096;
	bad_resume_find(&self, co);
	assert_null(incident(10));
	t->wait_regs[CTP_REG_SP] = co->lo + 4096;
	bad_resume_find(&self, co);
	assert_non_null(incident(10));
}

// ------------------------------------------------------------- ended

static void ends(enum ctp_how how, enum ctp_how before)
{
	co->life = CTP_FINISHED;
	co->how = (uint8_t)how;
	state_private(co)->before = before;
	self.thread->finished = 1;
	bad_resume_find(&self, co);
	assert_int_equal(self.thread->finished, 0);
}

static void returned(void **state)
{
	(void)state;
	ends(CTP_HOW_RETURN, CTP_HOW_SWAP);
	assert_non_null(incident(11));
	assert_int_equal(incident(11)->flags, CPU_RETURNS_BY_STACK ? 0 : CTP_LATE_ANEW);
	assert_null(self.late.who);
}

static void goes_back_elsewhere(void **state)
{
	(void)state;
	self.late.pc++;
	ends(CTP_HOW_RETURN, CTP_HOW_SWAP);
	assert_null(incident(11));
}

static void stack_was_put_back(void **state)
{
	(void)state;
	((uint64_t *)co->hi)[-3] = (uint64_t)ctp_coroutine_returned;
	ends(CTP_HOW_RETURN, CTP_HOW_SWAP);
	assert_int_equal(incident(11) == NULL, CPU_RETURNS_BY_STACK);
}

static void left_for_good(void **state)
{
	(void)state;
	ends(CTP_HOW_GONE, CTP_HOW_SWAP);
	assert_int_equal(incident(11)->flags, CTP_LATE_GONE);
}

static void saved_to_go_back_to(void **state)
{
	(void)state;
	self.late.slot += 8;
	ends(CTP_HOW_GONE, CTP_HOW_SWAP);
	self.late.who = co;
	self.late.slot = co->slot;
	ends(CTP_HOW_GONE, CTP_HOW_SET);
	assert_null(incident(11));
}

// ------------------------------------------------------------- without a stack

static void enter_released(uint64_t lo, uint64_t hi, uint64_t block)
{
	co->life = CTP_DESTROYED;
	co->how = CTP_HOW_RELEASED;
	state_private(co)->before = CTP_SUSPENDED;
	co->flags = CTP_STATE_STACK_FREED;
	state_private(co)->release_lo = lo;
	state_private(co)->release_hi = hi;
	state_private(co)->release_by = 77;
	state_private(co)->release_at = 8 | block;
	self.thread->destroyed = 1;
	bad_resume_find(&self, co);
	assert_int_equal(self.thread->destroyed, 0);
	assert_int_equal(co->flags, 0);
}

static void freed(void **state)
{
	(void)state;
	enter_released(co->lo, co->hi, RELEASED_BLOCK);
	assert_int_equal(incident(12)->flags, 0);
	assert_int_equal(incident(12)->other, 77);
	assert_int_equal(incident(12)->other_stack, 8);
}

static void unmapped(void **state)
{
	(void)state;
	real_munmap((void *)co->lo, BYTES);
	enter_released(co->lo, co->hi, 0);
	assert_int_equal(incident(12)->flags, CTP_LATE_GONE);
}

static void trimmed_or_mapped_again(void **state)
{
	(void)state;
	enter_released(co->lo, co->hi - 8192, 0);
	enter_released(co->lo, co->hi, 0);
	assert_null(incident(12));
	stack_now = STACK + 1;
	enter_released(co->lo, co->hi, 0);
	assert_non_null(incident(12));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(runs_elsewhere),
		TEST(runs_elsewhere_as_far_as_is_known),
		TEST(runs_no_more),
		TEST(sleeps_elsewhere),
		TEST(returned),
		TEST(goes_back_elsewhere),
		TEST(stack_was_put_back),
		TEST(left_for_good),
		TEST(saved_to_go_back_to),
		TEST(freed),
		TEST(unmapped),
		TEST(trimmed_or_mapped_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
