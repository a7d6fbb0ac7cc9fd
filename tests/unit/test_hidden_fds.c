// SPDX-License-Identifier: MIT
//
// What of the kernel's /proc does not show: of threads that are made up, and of
// one that has descriptors of its own.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/inspect/inspect.h"
#include "engine/inspect/hidden_fds.h"

enum { SET = 5, OTHER = 6, OPENED = 100 };

struct bench {
	struct ctp_fd fds[8];
	struct ctp_region r;
	struct ctp_ext ext;
	struct ctp_thread thread;
	struct proc_task task;
	int set;
	struct inspection l;
};

// One thread that sleeps in `fd`, since `since`, where SET is the one set that is shown.
static void bench(struct bench *b, int fd, uint64_t since)
{
	*b = (struct bench){.set = SET};
	b->fds[SET] = (struct ctp_fd){.gen = 1, .life = CTP_FD_OPEN, .opened = OPENED};
	b->r = (struct ctp_region){.fds = b->fds, .fds_max = 8, .ext = &b->ext};
	b->thread.wait_since = since;
	b->task = (struct proc_task){.tid = getpid(), .state = 'S', .slot = 0, .hooked = true, .nr = SYS_epoll_pwait,
				     .args = {(uint64_t)(unsigned)fd}, .wchan = "ep_poll"};
	b->l = (struct inspection){.r = &b->r, .pid = getpid(), .threads = &b->thread, .nthreads = 1};
	b->l.tasks.v = &b->task;
	b->l.tasks.n = 1;
	b->l.registrations.sets = &b->set;
	b->l.registrations.nsets = 1;
	b->l.registrations.complete = true;
}

static const char *found(struct bench *b)
{
	hidden_fds_find(&b->l);
	return b->l.hidden;
}

static void a_set_that_is_shown_hides_nothing(void **state)
{
	(void)state;
	struct bench b;
	bench(&b, SET, OPENED + 1);
	strcpy(b.l.hidden, "from the look before");
	assert_string_equal(found(&b), "");
}

static void a_set_without_a_number_may_hold_anything(void **state)
{
	(void)state;
	struct bench b;
	bench(&b, OTHER, OPENED + 1);
	assert_non_null(strstr(found(&b), "that no descriptor names"));
	b.task.state = 'R'; // awake: it holds nothing there
	assert_string_equal(found(&b), "");
	bench(&b, OTHER, OPENED + 1);
	b.l.registrations.complete = false; // sets were not read: that is said elsewhere
	assert_string_equal(found(&b), "");
}

static void a_number_that_is_another_sets_now(void **state)
{
	(void)state;
	struct bench b;
	bench(&b, SET, OPENED - 1); // asleep since before that one was opened
	assert_non_null(strstr(found(&b), "that no descriptor names"));
	b.task.hooked = false; // since when is not known
	assert_string_equal(found(&b), "");
}

struct other {
	pthread_barrier_t there, over;
	int tid;
	bool able;
};

static void *has_own_table(void *arg)
{
	struct other *o = arg;
	o->tid = gettid();
	o->able = !unshare(CLONE_FILES) && !close(0);
	pthread_barrier_wait(&o->there);
	pthread_barrier_wait(&o->over);
	return NULL;
}

static void a_thread_with_descriptors_of_its_own(void **state)
{
	(void)state;
	struct bench b;
	struct other o;
	pthread_t t;
	pthread_barrier_init(&o.there, NULL, 2);
	pthread_barrier_init(&o.over, NULL, 2);
	assert_int_equal(pthread_create(&t, NULL, has_own_table, &o), 0);
	pthread_barrier_wait(&o.there);
	bench(&b, SET, OPENED + 1);
	b.task = (struct proc_task){.tid = o.tid, .state = 'S', .slot = -1, .nr = SYS_futex};
	if (o.able) {
		assert_non_null(strstr(found(&b), "descriptors of its own"));
		assert_int_equal(b.ext.gaps, CTP_GAP_OWN_FDS);
	}
	b.task.nr = SYS_epoll_pwait; // that is said first, and the gap all the same
	b.task.args[0] = OTHER;
	strcpy(b.task.wchan, "ep_poll");
	b.ext.gaps = 0;
	assert_non_null(strstr(found(&b), "that no descriptor names"));
	assert_int_equal(b.ext.gaps, o.able ? CTP_GAP_OWN_FDS : 0);
	b.task.state = 'Z'; // it has ended: its descriptors with it
	b.ext.gaps = 0;
	assert_string_equal(found(&b), "");
	assert_int_equal(b.ext.gaps, 0);
	pthread_barrier_wait(&o.over);
	pthread_join(t, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_set_that_is_shown_hides_nothing), cmocka_unit_test(a_set_without_a_number_may_hold_anything),
		cmocka_unit_test(a_number_that_is_another_sets_now), cmocka_unit_test(a_thread_with_descriptors_of_its_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
