// SPDX-License-Identifier: MIT
//
// What a sleeping thread is blocked in: a thread of this process sleeps in one call after another.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ctp/region.h"
#include "engine/slices/slice.h"

static struct ctp_ext ext;
static struct ctp_thread threads[1];
static struct ctp_region region = {.ext = &ext, .threads = threads, .threads_max = 1};
static int in[2], out[2], queue;
static char fifo[64];
static pid_t tid;

static void *in_splice(void *arg)
{
	(void)arg;
	__atomic_store_n(&tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	splice(in[0], NULL, out[1], NULL, 1, 0);
	return NULL;
}

static void *in_msgrcv(void *arg)
{
	struct { long type; char text[8]; } m;
	(void)arg;
	__atomic_store_n(&tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	msgrcv(queue, &m, sizeof(m.text), 0, 0);
	return NULL;
}

static void *in_open(void *arg)
{
	(void)arg;
	__atomic_store_n(&tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	close(open(fifo, O_RDONLY | O_CLOEXEC)); // waits for a writer
	return NULL;
}

// Waits until the thread sleeps in call `nr`; then what is said of it.
static void look(long nr, struct slice_block *b)
{
	struct proc_task t;
	struct unwind *u = NULL;
	do
		sched_yield();
	while (!__atomic_load_n(&tid, __ATOMIC_ACQUIRE) || !proc_task_read(getpid(), tid, true, &t) || t.state != 'S' ||
	       t.nr != nr);
	slice_blocked_in(&region, getpid(), &t, 0, NULL, &u, b);
	unwind_free(u);
}

static pthread_t start(void *(*fn)(void *))
{
	pthread_t t;
	tid = 0;
	assert_int_equal(pthread_create(&t, NULL, fn, NULL), 0);
	return t;
}

static void a_splice_waits_for_a_descriptor(void **state)
{
	struct slice_block b;
	(void)state;
	assert_int_equal(pipe(in) | pipe(out), 0);
	pthread_t t = start(in_splice);
	look(SYS_splice, &b);
	assert_string_equal(b.call, "splice");
	assert_int_equal(b.kind, SLICE_CALL);
	assert_int_equal(b.fd, in[0]);
	assert_int_equal(write(in[1], "x", 1), 1);
	pthread_join(t, NULL);
}

static void a_queue_of_messages(void **state)
{
	struct slice_block b;
	struct { long type; char text[8]; } m = {1, "x"};
	(void)state;
	queue = msgget(IPC_PRIVATE, 0600);
	if (queue < 0)
		skip();
	pthread_t t = start(in_msgrcv);
	look(SYS_msgrcv, &b);
	assert_string_equal(b.call, "msgrcv");
	assert_int_equal(b.fd, -1);
	msgsnd(queue, &m, sizeof(m.text), 0);
	pthread_join(t, NULL);
	msgctl(queue, IPC_RMID, NULL);
}

static void a_call_that_has_no_row_is_told_by_its_number(void **state)
{
	struct slice_block b;
	char text[32];
	(void)state;
	snprintf(fifo, sizeof(fifo), "/tmp/test-slice-calls-%d", getpid());
	unlink(fifo); // of a killed run that had our number
	assert_int_equal(mkfifo(fifo, 0600), 0);
	pthread_t t = start(in_open);
	look(SYS_openat, &b);
	snprintf(text, sizeof(text), "system call %d", SYS_openat);
	assert_string_equal(b.call, text);
	assert_int_equal(b.kind, SLICE_CALL);
	close(open(fifo, O_WRONLY | O_CLOEXEC));
	pthread_join(t, NULL);
	unlink(fifo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_splice_waits_for_a_descriptor),
		cmocka_unit_test(a_queue_of_messages),
		cmocka_unit_test(a_call_that_has_no_row_is_told_by_its_number),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
