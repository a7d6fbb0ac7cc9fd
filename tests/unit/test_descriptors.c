// SPDX-License-Identifier: MIT
//
// descriptors.jsonl: which descriptors it has, and what the kernel says is unread of them, of a process that sleeps, and of
// one that does not.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/target/proc.h"
#include "engine/witness/descriptors.h"

enum { FDS = 64, STATES = 2, ID = 9 };
static struct ctp_ext ext;
static struct ctp_header header;
static struct ctp_region region;
static struct ctp_fd fds[FDS];
static struct ctp_state states[STATES];
static int conn[2], feed[2], hung_up[2];
static FILE *out;
static struct descriptors_told told;

static void is_open(int fd, enum ctp_fd_kind kind, uint64_t last_in)
{
	assert_in_range(fd, 0, FDS - 1);
	fds[fd] = (struct ctp_fd){.gen = 1, .life = CTP_FD_OPEN, .kind = kind, .reg_epfd = -1, .last_in = last_in};
}

static int begin(void **state)
{
	(void)state;
	memset(fds, 0, sizeof(fds));
	memset(states, 0, sizeof(states));
	ext = (struct ctp_ext){.fd_high = FDS - 1};
	header = (struct ctp_header){.allocated_count = STATES};
	region = (struct ctp_region){
		.header = &header, .ext = &ext, .fds = fds, .fds_max = FDS, .states = states, .stations_max = STATES};
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, conn), 0);
	assert_int_equal(pipe(feed), 0);
	assert_int_equal(pipe(hung_up), 0);
	close(hung_up[1]);
	out = tmpfile();
	return out ? fcntl(fileno(out), F_SETFL, O_APPEND) : -1; // as the engine opens it
}

static int end(void **state)
{
	(void)state;
	close(conn[0]);
	close(conn[1]);
	close(feed[0]);
	close(feed[1]);
	close(hung_up[0]);
	descriptors_told_deinit(&told);
	return fclose(out);
}

static pid_t child(bool sleeps)
{
	pid_t pid = fork();
	bool stopped;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			if (sleeps)
				pause();
	}
	while (sleeps && !proc_asleep(pid, &stopped))
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	return pid;
}

static void ended(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

// The line about fd; NULL: there is none.
static json_t *line_of(int fd)
{
	json_t *is = NULL;
	rewind(out);
	for (json_t *o; (o = json_loadf(out, JSON_DISABLE_EOF_CHECK, NULL));) {
		if (!is && json_integer_value(json_object_get(o, "fd")) == fd)
			is = o;
		else
			json_decref(o);
	}
	return is;
}

static size_t json_lines(void)
{
	size_t n = 0;
	rewind(out);
	for (json_t *o; (o = json_loadf(out, JSON_DISABLE_EOF_CHECK, NULL)); n++)
		json_decref(o);
	return n;
}

static void says(int fd, long unread, bool ready)
{
	json_t *o = line_of(fd);
	assert_non_null(o);
	assert_true(json_integer_value(json_object_get(o, "ns")) > 0);
	assert_int_equal(json_integer_value(json_object_get(o, "unread")), unread);
	assert_int_equal(json_is_true(json_object_get(o, "ready")), ready);
	json_decref(o);
}

static void what_is_unread(void **state)
{
	(void)state;
	is_open(conn[0], CTP_FD_UNIX, ID);
	is_open(feed[0], CTP_FD_PIPE, ID);
	is_open(hung_up[0], CTP_FD_PIPE, ID);
	is_open(feed[1], CTP_FD_PIPE, 0); // nobody used it
	assert_int_equal(write(conn[1], "7 bytes", 7), 7);
	pid_t pid = child(true);
	descriptors_write(out, &told, &region, pid, UINT64_MAX);
	descriptors_write(out, &told, &region, pid, UINT64_MAX);
	says(conn[0], 7, true);
	assert_int_equal(json_lines(), 3); // no line twice
	says(feed[0], 0, false);
	says(hung_up[0], 0, true);
	assert_null(line_of(feed[1]));
	ended(pid);
}

static void who_is_awake_is_not_asked(void **state)
{
	(void)state;
	is_open(conn[0], CTP_FD_UNIX, ID);
	is_open(feed[0], CTP_FD_PIPE, CTP_FD_UNNAMED | 1);
	pid_t pid = child(false);
	descriptors_write(out, &told, &region, pid, UINT64_MAX);
	json_t *o = line_of(conn[0]);
	assert_non_null(o);
	assert_null(json_object_get(o, "unread"));
	json_decref(o);
	assert_null(line_of(feed[0]));
	ended(pid);
}

static bool is_disarmed(int fd)
{
	json_t *o = line_of(fd);
	bool is = json_is_true(json_object_get(o, "disarmed")) && json_integer_value(json_object_get(o, "ns")) > 0;
	json_decref(o);
	return is;
}

// Of a timer that several set: it may be all that those who armed it wait for.
static void which_timers_are_disarmed(void **state)
{
	(void)state;
	const struct itimerspec later = {.it_value.tv_sec = 3600};
	int off = timerfd_create(CLOCK_MONOTONIC, 0), on = timerfd_create(CLOCK_MONOTONIC, 0), own = timerfd_create(CLOCK_MONOTONIC, 0);
	assert_int_equal(timerfd_settime(on, 0, &later, NULL), 0);
	is_open(off, CTP_FD_TIMERFD, 0);
	is_open(on, CTP_FD_TIMERFD, 0);
	is_open(own, CTP_FD_TIMERFD, 0);
	fds[off].last_out = fds[on].last_out = ID | CTP_FD_SEVERAL;
	fds[own].last_out = ID;
	pid_t pid = child(true);
	descriptors_write(out, &told, &region, pid, UINT64_MAX);
	assert_true(is_disarmed(off));
	assert_false(is_disarmed(on));
	assert_null(line_of(own));
	ended(pid);
	close(off);
	close(on);
	close(own);
}

static int64_t asked_at(int fd)
{
	json_t *o = line_of(fd);
	int64_t ns = json_integer_value(json_object_get(o, "ns"));
	json_decref(o);
	return ns;
}

// A loop is awake now and then when it is asked: what it was told while it slept stands.
static void the_last_answer_stands_until_something_comes(void **state)
{
	(void)state;
	is_open(conn[0], CTP_FD_UNIX, ID);
	is_open(feed[0], CTP_FD_PIPE, ID);
	pid_t asleep = child(true), awake = child(false);
	descriptors_write(out, &told, &region, asleep, UINT64_MAX);
	int64_t ns = asked_at(conn[0]);
	fds[feed[0]].event_time = 5;
	descriptors_write(out, &told, &region, awake, UINT64_MAX);
	says(conn[0], 0, false);
	assert_int_equal(asked_at(conn[0]), ns);
	assert_int_equal(asked_at(feed[0]), 0);
	fds[conn[0]].last_in = ID + 1;
	descriptors_write(out, &told, &region, awake, UINT64_MAX);
	assert_int_equal(asked_at(conn[0]), 0);
	ended(asleep);
	ended(awake);
}

static void who_has_ended_leaves_what_was_known(void **state)
{
	(void)state;
	is_open(conn[0], CTP_FD_UNIX, ID);
	pid_t pid = child(true);
	descriptors_write(out, &told, &region, pid, UINT64_MAX);
	kill(pid, SIGKILL);
	siginfo_t info;
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0); // it is a zombie
	descriptors_write(out, &told, &region, pid, UINT64_MAX);
	says(conn[0], 0, false);
	ended(pid);
}

static void what_is_not_reached_in_time_leaves_what_was_known(void **state)
{
	(void)state;
	is_open(conn[0], CTP_FD_UNIX, ID);
	pid_t pid = child(true);
	descriptors_write(out, &told, &region, pid, UINT64_MAX);
	descriptors_write(out, &told, &region, pid, 1);
	says(conn[0], 0, false);
	ended(pid);
}

static void for_whom_they_are_written(void **state)
{
	(void)state;
	assert_false(descriptors_wanted(&region));
	states[1] = (struct ctp_state){.id = ID, .life = CTP_SUSPENDED, .entity = CTP_COROUTINE, .runs = 1, .owner = CTP_OWNER_GUEST};
	assert_true(descriptors_wanted(&region));
	states[1].nwaits = 1; // its peer may be silent
	assert_true(descriptors_wanted(&region));
	states[1].nwaits = 0;
	states[1].runs = 0;
	assert_false(descriptors_wanted(&region));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_unread),
		TEST(which_timers_are_disarmed),
		TEST(who_is_awake_is_not_asked),
		TEST(the_last_answer_stands_until_something_comes),
		TEST(who_has_ended_leaves_what_was_known),
		TEST(what_is_not_reached_in_time_leaves_what_was_known),
		TEST(for_whom_they_are_written),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
