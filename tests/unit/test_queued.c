// SPDX-License-Identifier: MIT
//
// What sockets of this very process have to be read, by the kernel's socket diagnosis.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/stored/sock_diag.h"
#include "engine/stored/queued.h"

static struct queued q;

static int begin(void **state)
{
	int s = sock_diag_open(getpid());
	(void)state;
	sock_diag_close(s);
	if (s < 0)
		skip();
	return 0;
}

static int end(void **state)
{
	(void)state;
	queued_deinit(&q);
	return 0;
}

static void local(int type)
{
	int fd[2];
	assert_int_equal(socketpair(AF_UNIX, type, 0, fd), 0);
	assert_int_equal(queued_bytes(&q, getpid(), fd[0]), 0);
	assert_int_equal(write(fd[1], "abc", 3), 3);
	assert_int_equal(queued_bytes(&q, getpid(), fd[0]), 0); // as of the first question
	queued_deinit(&q);
	assert_int_equal(queued_bytes(&q, getpid(), fd[0]), 3);
	assert_int_equal(queued_bytes(&q, getpid(), fd[1]), 0);
	queued_deinit(&q);
	close(fd[0]);
	close(fd[1]);
}

static void of_a_pair(void **state)
{
	(void)state;
	local(SOCK_STREAM);
	local(SOCK_SEQPACKET);
}

static void of_a_connection(void **state)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0), out = socket(AF_INET, SOCK_STREAM, 0);
	(void)state;
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &len), 0);
	assert_int_equal(connect(out, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(queued_bytes(&q, getpid(), listener), 0); // a connection is no byte
	int in = accept(listener, NULL, NULL);
	char c;
	assert_int_equal(write(out, "abcd", 4), 4);
	assert_int_equal(recv(in, &c, 1, MSG_PEEK), 1); // has come
	queued_deinit(&q);
	assert_int_equal(queued_bytes(&q, getpid(), in), 4);
	assert_int_equal(queued_bytes(&q, getpid(), out), 0);
	close(in);
	close(out);
	close(listener);
}

static void of_what_is_no_socket(void **state)
{
	int fd[2];
	(void)state;
	assert_int_equal(pipe(fd), 0);
	assert_int_equal(queued_bytes(&q, getpid(), fd[0]), -1);
	close(fd[0]);
	close(fd[1]);
	assert_int_equal(queued_bytes(&q, getpid(), fd[0]), -1);
	assert_int_equal(queued_bytes(&q, getpid(), -1), -1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {TEST(of_a_pair), TEST(of_a_connection), TEST(of_what_is_no_socket)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
