// SPDX-License-Identifier: MIT
//
// Whether anything waits in sockets of this very process.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/stored/sockets_asked.h"

enum { MOST = 4 };

static struct inspection l;
static struct queues_socket sockets[MOST];
static struct queues q;

static struct sockets_asked ask(const int *fd, size_t n)
{
	l = (struct inspection){.pid = getpid(), .deadline_ns = UINT64_MAX};
	q = (struct queues){.l = &l, .sockets = sockets, .nsockets = n};
	for (size_t i = 0; i < n; i++) {
		struct stat st;
		assert_int_equal(fstat(fd[i], &st), 0);
		sockets[i] = (struct queues_socket){.ino = st.st_ino, .fd = fd[i]};
	}
	return sockets_ask(&q);
}

static int bound(int type, struct sockaddr_in *a)
{
	socklen_t n = sizeof(*a);
	*a = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0 && !bind(fd, (struct sockaddr *)a, n) && !getsockname(fd, (struct sockaddr *)a, &n));
	return fd;
}

static void connections(void **state)
{
	struct sockaddr_in a;
	char c;
	int listens = bound(SOCK_STREAM, &a), one = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	(void)state;
	assert_int_equal(listen(listens, 4), 0);
	assert_true(ask(&listens, 1).empty);
	assert_int_equal(connect(one, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_false(ask(&listens, 1).empty); // nobody has accepted it
	int other = accept(listens, NULL, NULL), all[] = {listens, one, other};
	struct sockets_asked s = ask(all, 3);
	assert_true(s.inet && s.empty && !s.others);
	assert_true(sockets[0].seen && sockets[1].seen && sockets[2].seen);
	assert_int_equal(send(one, "x", 1, 0), 1);
	assert_int_equal(recv(other, &c, 1, MSG_PEEK), 1);
	assert_false(ask(all, 3).empty);
	assert_false(sockets[0].seen);
	assert_int_equal(recv(other, &c, 1, 0), 1);
	assert_true(ask(all, 3).empty);
	for (unsigned i = 0; i < 3; i++)
		close(all[i]);
}

// The first one is empty, and would not show the other.
static void datagrams(void **state)
{
	struct sockaddr_in a;
	char c;
	int fd = bound(SOCK_DGRAM, &a);
	(void)state;
	assert_true(ask(&fd, 1).empty);
	assert_int_equal(sendto(fd, "", 0, 0, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(sendto(fd, "handle", 6, 0, (struct sockaddr *)&a, sizeof(a)), 6);
	assert_false(ask(&fd, 1).empty);
	assert_int_equal(recv(fd, &c, 1, 0), 0);
	assert_int_equal(recv(fd, &c, 1, 0), 1);
	assert_true(ask(&fd, 1).empty);
	close(fd);
}

static void others(void **state)
{
	int fd[2];
	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	struct sockets_asked s = ask(fd, 2);
	assert_true(s.others && !s.inet);
	assert_false(sockets[0].seen); // they are looked at elsewhere
	close(fd[0]);
	close(fd[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(connections), cmocka_unit_test(datagrams),
					   cmocka_unit_test(others)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
