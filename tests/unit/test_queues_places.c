// SPDX-License-Identifier: MIT
//
// Numbers that the kernel keeps for this process, each of which is told, alone or put together with its neighbour.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/stored/queues.h"

#define ADDRESS 0x7f12d6f0a4e0
static unsigned seen;

static void on_number(void *ctx, const char *where, uint64_t number)
{
	(void)ctx;
	assert_true(strlen(where) > 4);
	seen += number == ADDRESS;
}

static struct proc_task self;
static struct inspection inspection;

static struct queues open_queues(void)
{
	self = (struct proc_task){.tid = getpid()};
	inspection = (struct inspection){.pid = getpid(), .deadline_ns = UINT64_MAX, .tasks = {.v = &self, .n = 1}};
	seen = 0;
	return (struct queues){.l = &inspection, .number = on_number};
}

static int new_file(void)
{
	char path[] = "/tmp/ctp-places-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	unlink(path);
	return fd;
}

// fdinfo of a file, as queues_file() is given it.
static bool file(struct queues *q, int fd)
{
	char path[64], text[4096];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	int info = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(info, text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = '\0';
	close(info);
	assert_int_equal(fstat(fd, &st), 0);
	return queues_file(q, fd, &st, text);
}

static void sizes_and_times(void **state)
{
	struct queues q = open_queues();
	int fd = new_file();
	(void)state;
	assert_true(file(&q, fd));
	assert_int_equal(seen, 0);
	for (unsigned bits = 16; bits <= 28; bits++) {
		struct timespec t[2] = {{1, 0}, {(time_t)(ADDRESS >> bits), (long)(ADDRESS & ((1L << bits) - 1))}};
		assert_int_equal(futimens(fd, t), 0);
		seen = 0;
		assert_true(file(&q, fd));
		assert_true(seen > 0);
	}
	struct timespec micro[2] = {{(time_t)(ADDRESS / 1000000), (long)(ADDRESS % 1000000)}, {2, 0}};
	assert_int_equal(futimens(fd, micro), 0);
	seen = 0;
	assert_true(file(&q, fd));
	assert_true(seen > 0);
	close(fd);
}

static void locks(void **state)
{
	struct queues q = open_queues();
	int fd = new_file();
	struct flock l = {.l_type = F_WRLCK, .l_start = 0x40000000, .l_len = 512}; // as a data base has it
	(void)state;
	assert_int_equal(fcntl(fd, F_SETLK, &l), 0);
	assert_true(file(&q, fd));
	assert_int_equal(seen, 0);
	l = (struct flock){.l_type = F_WRLCK, .l_start = ADDRESS, .l_len = 1};
	assert_int_equal(fcntl(fd, F_SETLK, &l), 0);
	assert_false(file(&q, fd));
	assert_int_equal(seen, 1);
	assert_non_null(strstr(q.why, "lock"));
	close(fd);
}

static void kinds(void **state)
{
	struct queues q = open_queues();
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	struct itimerspec t = {.it_interval = {ADDRESS >> 20, ADDRESS & 0xfffff}, .it_value = {1 << 20, 0}};
	(void)state;
	assert_true(queues_kind(&q, "anon_inode:[timerfd]", fd));
	assert_int_equal(seen, 0);
	assert_int_equal(timerfd_settime(fd, 0, &t, NULL), 0);
	assert_true(queues_kind(&q, "anon_inode:[timerfd]", fd));
	assert_true(seen > 0);
	assert_true(queues_kind(&q, "anon_inode:[eventpoll]", fd));
	sigset_t set;
	sigemptyset(&set);
	int signals = signalfd(-1, &set, SFD_CLOEXEC);
	sigaddset(&set, SIGCHLD);
	assert_int_equal(signalfd(signals, &set, 0), signals);
	assert_true(queues_kind(&q, "anon_inode:[signalfd]", signals));
	for (int s = 1; s <= 47; s++)
		if (ADDRESS >> s & 1)
			sigaddset(&set, s + 1);
	assert_int_equal(signalfd(signals, &set, 0), signals);
	assert_false(queues_kind(&q, "anon_inode:[signalfd]", signals));
	sigfillset(&set);
	assert_int_equal(signalfd(signals, &set, 0), signals);
	assert_true(queues_kind(&q, "anon_inode:[signalfd]", signals));
	close(signals);
	assert_true(queues_kind(&q, "anon_inode:inotify", fd));
	assert_false(queues_kind(&q, "anon_inode:bpf-map", fd)); // shows nothing of what is in it
	assert_non_null(strstr(q.why, "bpf-map"));
	close(fd);
}

static void devices(void **state)
{
	struct queues q = open_queues();
	struct stat st;
	(void)state;
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(queues_device(&q, 0, &st));
	st.st_rdev = 10 << 8 | 200; // a network of the program's own
	assert_false(queues_device(&q, 0, &st));
}

static void of_the_process(void **state)
{
	struct queues q = open_queues();
	struct rlimit was, l;
	(void)state;
	assert_true(queues_process(&q));
	assert_int_equal(seen, 0);
	assert_int_equal(getrlimit(RLIMIT_CORE, &was), 0);
	l = was;
	l.rlim_cur = ADDRESS;
	if (was.rlim_max >= ADDRESS) {
		assert_int_equal(setrlimit(RLIMIT_CORE, &l), 0);
		assert_true(queues_process(&q));
		assert_int_equal(seen, 1);
		assert_int_equal(setrlimit(RLIMIT_CORE, &was), 0);
	}
	seen = 0;
	assert_int_equal(prctl(PR_SET_TIMERSLACK, (unsigned long)ADDRESS), 0);
	assert_true(queues_process(&q));
	assert_int_equal(seen, 1);
	assert_int_equal(prctl(PR_SET_TIMERSLACK, 0), 0);
}

static void semaphores(void **state)
{
	struct queues q = open_queues();
	int id = semget(IPC_PRIVATE, 4, 0600);
	(void)state;
	if (id < 0)
		skip();
	for (int i = 0; i < 4; i++)
		assert_int_equal(semctl(id, i, SETVAL, 1 + i), 0);
	bool few = queues_semaphores(&q);
	for (int i = 0; i < 4; i++)
		assert_int_equal(semctl(id, i, SETVAL, (int)(ADDRESS >> 12 * i & 0xfff)), 0);
	bool many = queues_semaphores(&q);
	assert_int_equal(semctl(id, 0, IPC_RMID), 0);
	assert_true(few && !many);
	assert_int_equal(seen, 1);
}

static size_t told; // bytes
static bool found;

static void on_bytes(void *ctx, const char *where, const unsigned char *bytes, size_t n)
{
	const uint64_t address = ADDRESS;
	(void)ctx;
	(void)where;
	told += n;
	found |= memmem(bytes, n, &address, sizeof(address)) != NULL;
}

// A file of which hardly anything was written is not read as far as its size goes: nobody could wait for that.
static void far_out_in_a_file(void **state)
{
	const uint64_t address = ADDRESS;
	static const off_t places[] = {0, 1L << 33, (1L << 43) - 4096, (1L << 43) + 4090, (1L << 44) - 8};
	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		struct queues q = open_queues();
		q.bytes = on_bytes;
		int fd = (int)syscall(SYS_memfd_create, "far", 0);
		assert_true(fd >= 0);
		assert_int_equal(ftruncate(fd, 1L << 44), 0);
		assert_int_equal(pwrite(fd, "x", 1, 1 << 22), 1);
		assert_int_equal(pwrite(fd, &address, sizeof(address), places[i]), sizeof(address));
		inspection.deadline_ns = clock_mono_ns() + 30000000000; // so that a fault ends
		told = found = 0;
		assert_true(queues_read(&q));
		assert_true(found);
		assert_true(told < 1 << 22);
		close(fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(sizes_and_times), cmocka_unit_test(locks), cmocka_unit_test(kinds),
					   cmocka_unit_test(devices), cmocka_unit_test(of_the_process),
					   cmocka_unit_test(semaphores), cmocka_unit_test(far_out_in_a_file)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
