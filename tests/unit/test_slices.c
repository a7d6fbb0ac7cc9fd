// SPDX-License-Identifier: MIT
//
// The sampler of slices over a region made by hand, with threads of this very
// process; what its lines read as; and where a slice that computes spends its time.
#include <fcntl.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ctp/seq.h"
#include "engine/target/proc.h"
#include "engine/slices/slices.h"
#include "trace/looks/slices.h"

enum { SET = 900, FD = 901, STATIONS = 4, TURNS = 2000 };

struct fixture {
	struct ctp_region r;
	struct witness_clock clock;
	char path[64];
	FILE *out;
	struct slices *s;
	int pipe[2];
	pthread_t thread;
	pid_t tid;
};

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));
	struct ctp_header layout = { 0 };
	ctp_region_layout(&layout, STATIONS, 4096);
	void *p = mmap(NULL, layout.ext.region_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	memcpy(p, &layout, sizeof(layout));
	assert_int_equal(ctp_region_open(&x->r, p, layout.ext.region_bytes), 0);
	x->clock.ns_per_tick = 1; // ticks are ns
	strcpy(x->path, "/tmp/test-slices-XXXXXX");
	x->out = fdopen(mkstemp(x->path), "a");
	x->s = slices_new(&x->r, getpid(), x->out, &x->clock);
	assert_non_null(x->s);
	assert_int_equal(pipe(x->pipe), 0);
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *x = *state;
	slices_free(x->s);
	fclose(x->out);
	unlink(x->path);
	close(x->pipe[0]);
	close(x->pipe[1]);
	munmap(x->r.base, x->r.bytes);
	free(x);
	return 0;
}

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void *reader(void *arg)
{
	struct fixture *x = arg;
	char byte;
	__atomic_store_n(&x->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	while (read(x->pipe[0], &byte, 1) < 0 && errno == EINTR)
		;
	return NULL;
}

static void start_reader(struct fixture *x)
{
	assert_int_equal(pthread_create(&x->thread, NULL, reader, x), 0);
	while (!__atomic_load_n(&x->tid, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void end_reader(struct fixture *x)
{
	assert_int_equal(write(x->pipe[1], "x", 1), 1);
	pthread_join(x->thread, NULL);
}

// Station i is a coroutine; the runner is current on slot 0, whose loop polls SET.
static struct ctp_state *station(struct fixture *x, uint32_t i, uint64_t id, enum ctp_life life)
{
	struct ctp_state *s = &x->r.states[i];
	*s = (struct ctp_state){ .owner = CTP_OWNER_GUEST, .id = id, .entity = CTP_COROUTINE, .life = (uint8_t)life,
				 .since = now_ns() & ~(uint64_t)1, .changes = 3, .runs = 2, .station = i };
	x->r.header->allocated_count = i + 1 > x->r.header->allocated_count ? i + 1 : x->r.header->allocated_count;
	return s;
}

static void make_thread(struct fixture *x, uint32_t slot, uint32_t tid, uint64_t native, uint64_t current)
{
	struct ctp_thread *t = &x->r.threads[slot];
	t->tid = tid;
	t->native = native;
	t->current = current;
	t->switches = 5;
	t->polls = 1;
	t->flags = CTP_THREAD_LOOPS;
	t->life = CTP_THREAD_LIVE;
	x->r.ext->thread_high = slot + 1;
}

static void make_waiter(struct fixture *x)
{
	struct ctp_state *s = station(x, 2, 12, CTP_SUSPENDED);
	s->nwaits = 1;
	s->waits[0] = (struct ctp_wait){ .fd = FD, .gen = 1, .epfd = SET, .how = CTP_WAIT_REGISTERED };
	x->r.fds[FD] = (struct ctp_fd){ .gen = 1, .life = CTP_FD_OPEN, .reg_epfd = SET };
}

// Polls until there is a line about this rule; false after many turns without one.
static bool appears(struct fixture *x, unsigned rule, struct slices_set *got)
{
	for (int i = 0; i < TURNS; i++) {
		slices_poll(x->s, now_ns());
		slices_deinit(got);
		assert_int_equal(slices_read(got, AT_FDCWD, x->path), 0);
		for (size_t k = 0; k < got->n; k++)
			if (got->items[k].rule == rule)
				return true;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	return false;
}

static void test_blocked_read(void **state)
{
	struct fixture *x = *state;
	struct slices_set got = { 0 };
	start_reader(x);
	station(x, 1, 11, CTP_RUNNING);
	make_waiter(x);
	make_thread(x, 0, (uint32_t)x->tid, 10, 11);
	assert_true(appears(x, 17, &got));
	const struct slices_item *i = &got.items[0];
	assert_int_equal(got.n, 1);
	assert_int_equal(i->coroutine, 11);
	assert_int_equal(i->others, 1);
	assert_int_equal(i->served, 0);
	assert_int_equal(i->fd, x->pipe[0]);
	assert_string_equal(i->call, "read");
	assert_string_equal(i->fd_kind, "pipe");
	assert_true(i->asleep_ns >= 10000000);
	assert_false(i->disk);
	end_reader(x);
	slices_deinit(&got);
}

static void *sleeper(void *arg)
{
	struct fixture *x = arg;
	__atomic_store_n(&x->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	nanosleep(&(struct timespec){ .tv_sec = 3600 }, NULL);
	return NULL;
}

static void start_sleeper(struct fixture *x)
{
	struct proc_task t;
	assert_int_equal(pthread_create(&x->thread, NULL, sleeper, x), 0);
	while (!__atomic_load_n(&x->tid, __ATOMIC_ACQUIRE) || !proc_task_read(getpid(), x->tid, true, &t) || t.state != 'S' ||
	       (t.nr != SYS_nanosleep && t.nr != SYS_clock_nanosleep))
		sched_yield();
}

static void end_sleeper(struct fixture *x)
{
	pthread_cancel(x->thread);
	pthread_join(x->thread, NULL);
}

// A late engine sees a sleep once: it lasted as long as it says, if the slice did.
static void test_one_sample_of_a_sleep(void **state)
{
	struct fixture *x = *state;
	struct slices_set got = { 0 };
	const uint64_t ms = 1000000;
	start_sleeper(x);
	struct ctp_state *s = station(x, 1, 11, CTP_RUNNING);
	make_waiter(x);
	make_thread(x, 0, (uint32_t)x->tid, 10, 11);
	uint64_t now = now_ns();
	slices_poll(x->s, now);
	slices_poll(x->s, now + 20 * ms); // the sample
	s->life = CTP_SUSPENDED;
	s->changes++;
	s->since += 3000 * ms;
	x->r.threads[0].switches++;
	x->r.threads[0].current = 10;
	slices_poll(x->s, now + 21 * ms);
	assert_int_equal(slices_read(&got, AT_FDCWD, x->path), 0);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.items[0].rule, 17);
	assert_int_equal(got.items[0].asleep_ns, 3000 * ms);
	assert_true(got.items[0].over);
	assert_string_equal(got.items[0].call, "nanosleep");
	end_sleeper(x);
	slices_deinit(&got);
}

// The same of one that goes on: nothing is said of what has not been yet.
static void test_sleep_has_only_begun(void **state)
{
	struct fixture *x = *state;
	struct slices_set got = { 0 };
	start_sleeper(x);
	station(x, 1, 11, CTP_RUNNING);
	make_waiter(x);
	make_thread(x, 0, (uint32_t)x->tid, 10, 11);
	uint64_t now = now_ns();
	slices_poll(x->s, now);
	slices_poll(x->s, now + 20000000);
	assert_int_equal(slices_read(&got, AT_FDCWD, x->path), 0);
	assert_int_equal(got.n, 0);
	end_sleeper(x);
	slices_deinit(&got);
}

// Another thread sleeps in the same set: nobody is starved.
static void test_served(void **state)
{
	struct fixture *x = *state;
	struct slices_set got = { 0 };
	start_reader(x);
	station(x, 1, 11, CTP_RUNNING);
	make_waiter(x);
	make_thread(x, 0, (uint32_t)x->tid, 10, 11);
	make_thread(x, 1, (uint32_t)getpid(), 20, 20);
	struct ctp_thread *other = &x->r.threads[1];
	other->wait_call = CTP_IN_EPOLL;
	other->wait_fd = SET;
	other->wait_seq = 1;
	assert_true(appears(x, 17, &got));
	assert_int_equal(got.items[0].others, 0);
	assert_int_equal(got.items[0].served, 1);
	end_reader(x);
	slices_deinit(&got);
}

// For as many turns as a block needs to be told, and many more: nothing is.
static void test_silent(struct fixture *x)
{
	struct slices_set got = { 0 };
	for (int i = 0; i < 100; i++) {
		slices_poll(x->s, now_ns());
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	slices_final(x->s);
	assert_int_equal(slices_read(&got, AT_FDCWD, x->path), 0);
	assert_int_equal(got.n, 0);
	slices_deinit(&got);
}

static void test_native_and_alone(void **state)
{
	struct fixture *x = *state;
	start_reader(x);
	station(x, 1, 11, CTP_RUNNING);
	make_thread(x, 0, (uint32_t)x->tid, 10, 10); // the thread's own stack may block
	make_waiter(x);
	test_silent(x);
	x->r.threads[0].current = 11;
	x->r.states[2].life = CTP_FINISHED; // nobody waits
	test_silent(x);
	end_reader(x);
}

static void test_loop_on_coroutine(void **state)
{
	struct fixture *x = *state;
	start_reader(x);
	station(x, 1, 11, CTP_RUNNING);
	make_waiter(x);
	make_thread(x, 0, (uint32_t)x->tid, 10, 11);
	x->r.threads[0].wait_call = CTP_IN_EPOLL;
	x->r.threads[0].wait_fd = SET;
	x->r.threads[0].wait_seq = 7;
	test_silent(x);
	end_reader(x);
}

static void test_lines(void **state)
{
	struct fixture *x = *state;
	struct slices_set got = { 0 };
	fputs("{\"v\":1,\"rule\":\"CTP018\",\"coroutine\":5,\"site\":\"0x1f\",\"count\":1,\"slice_ns\":20,\"lock\":\"0x7f00\","
	      "\"stack\":[\"0x10\",\"0x20\"],\"call\":\"futex\"}\n"
	      "{\"v\":1,\"rule\":\"CTP018\",\"coroutine\":5,\"site\":\"0x1f\",\"count\":3,\"slice_ns\":90,\"fd\":0,\"over\":true}\n"
	      "{\"v\":1,\"rule\":\"CTP018\",\"coroutine\":6,\"site\":\"0x1f\",\"count\":1,\"lock_name\":\"cache+0x8\"}\n"
	      "not json\n{\"v\":1}\n{\"v\":1,\"dropped\":7}\n", x->out);
	fflush(x->out);
	assert_int_equal(slices_read(&got, AT_FDCWD, x->path), 0);
	assert_int_equal(got.n, 2);
	assert_int_equal(got.items[0].count, 3); // the later line counts
	assert_int_equal(got.items[0].slice_ns, 90);
	assert_int_equal(got.items[0].fd, 0);
	assert_int_equal(got.items[1].fd, -1);
	assert_true(got.items[0].over);
	assert_null(got.items[0].call);
	assert_null(got.items[0].lock_name);
	assert_string_equal(got.items[1].lock_name, "cache+0x8");
	assert_int_equal(got.bad_lines, 2);
	assert_int_equal(got.dropped, 7);
	assert_int_equal(got.stacks[0].n, 2);
	assert_int_equal(got.stacks[0].pcs[1], 0x20);
	slices_deinit(&got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_blocked_read, setup, teardown),
		cmocka_unit_test_setup_teardown(test_one_sample_of_a_sleep, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sleep_has_only_begun, setup, teardown),
		cmocka_unit_test_setup_teardown(test_served, setup, teardown),
		cmocka_unit_test_setup_teardown(test_native_and_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_loop_on_coroutine, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lines, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
