// SPDX-License-Identifier: MIT
//
// --overflow=block: a thread whose ring is full waits for an engine that lives, and not for one that is
// gone. How long is counted in naps: each wakes the engine, and so adds one to the region's word.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/guest/emit.h"

enum { SECOND = 10000, PATIENCE = SECOND / 2 }; // naps

static struct tracer tracer;
struct tracer *ctp_tracer = &tracer;
static struct thread_ctx g;

static int begin(void **state)
{
	(void)state;
	static struct ctp_header layout;
	memset(&layout, 0, sizeof(layout));
	ctp_region_layout(&layout, 8, 4096);
	void *base = mmap(NULL, layout.ext.region_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return -1;
	memcpy(base, &layout, sizeof(layout));
	tracer = (struct tracer){ .block = true, .attached = 1 };
	if (ctp_region_open(&tracer.region, base, layout.ext.region_bytes))
		return -1;
	struct ctp_thread *t = tracer.region.threads;
	g = (struct thread_ctx){ .thread = t, .ring = ctp_region_ring(&tracer.region, 0), .ring_capacity = tracer.region.ring_capacity,
				  .ring_mask = tracer.region.ring_capacity - 1};
	ctp_ring_begin(t);
	while (ctp_ring_head(t) + 2 <= g.ring_capacity)
		emit(&g, ctp_w1(CTP_EV_SWITCH, 0, 1), ctp_w2(2, 0), 0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	return munmap(tracer.region.base, tracer.region.bytes);
}

static uint32_t naps(void)
{
	return ctp_load32(&tracer.region.ext->wake);
}

static pid_t child_that_ended(void)
{
	siginfo_t info;
	pid_t pid = fork();
	if (!pid)
		_exit(0);
	while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) && errno == EINTR)
		;
	return pid;
}

static void is_not_waited_for(pid_t engine)
{
	tracer.region.ext->engine_pid = (uint32_t)engine;
	assert_int_equal(g.thread->lost, 0);
	emit(&g, ctp_w1(CTP_EV_SWITCH, 0, 1), ctp_w2(2, 0), 0);
	assert_int_equal(g.thread->lost, 1);
	assert_in_range(naps(), 1, PATIENCE);
	uint32_t before = naps();
	emit(&g, ctp_w1(CTP_EV_SWITCH, 0, 1), ctp_w2(2, 0), 0); // nor again
	assert_int_equal(g.thread->lost, 2);
	assert_in_range(naps(), before, before + 1);
}

static void dead_engine_that_nobody_reaped(void **state)
{
	(void)state;
	pid_t pid = child_that_ended();
	is_not_waited_for(pid);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void dead_engine_that_is_gone(void **state)
{
	(void)state;
	pid_t pid = child_that_ended();
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	is_not_waited_for(pid);
}

static void *make_room_late(void *arg)
{
	(void)arg;
	while (naps() < PATIENCE)
		usleep(100);
	ctp_ring_taken(g.thread, g.ring_capacity / 2);
	return NULL;
}

static void slow_engine_is_waited_for(void **state)
{
	(void)state;
	pthread_t late;
	tracer.region.ext->engine_pid = (uint32_t)getpid();
	assert_int_equal(pthread_create(&late, NULL, make_room_late, NULL), 0);
	emit(&g, ctp_w1(CTP_EV_SWITCH, 0, 1), ctp_w2(2, 0), 0);
	pthread_join(late, NULL);
	assert_int_equal(g.thread->lost, 0);
	assert_true(tracer.block);
	assert_true(naps() >= PATIENCE);
}

// ctp-run detaches: it reads for a while yet, and waits for the thread to leave its hook.
static void detached_is_waited_for_briefly(void **state)
{
	(void)state;
	tracer.region.ext->engine_pid = (uint32_t)getpid();
	tracer.attached = 0;
	emit(&g, ctp_w1(CTP_EV_SWITCH, 0, 1), ctp_w2(2, 0), 0);
	assert_int_equal(g.thread->lost, 1);
	assert_in_range(naps(), 1, PATIENCE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(dead_engine_that_nobody_reaped, begin, end),
		cmocka_unit_test_setup_teardown(dead_engine_that_is_gone, begin, end),
		cmocka_unit_test_setup_teardown(slow_engine_is_waited_for, begin, end),
		cmocka_unit_test_setup_teardown(detached_is_waited_for_briefly, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
