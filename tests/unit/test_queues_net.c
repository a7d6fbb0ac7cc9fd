// SPDX-License-Identifier: MIT
//
// What the kernel's socket diagnosis says of our own sockets is what its files say.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/stored/queues_net.c"

#include <arpa/inet.h>
#include <sys/stat.h>

static struct inets told, written;

static uint64_t inode(int fd)
{
	struct stat st;
	assert_int_equal(fstat(fd, &st), 0);
	return st.st_ino;
}

// The file has its last rows twice where others made sockets while it was read: at the end the kernel counts
// the rows again.
static const struct inet *of(const struct inets *s, uint64_t ino)
{
	const struct inet *is = NULL;
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].ino == ino) {
			assert_true(!is || (s == &written && !memcmp(is, &s->v[i], sizeof(*is))));
			is = &s->v[i];
		}
	return is;
}

static void same(int fd, unsigned state, unsigned sent, unsigned queued)
{
	const struct inet *a = of(&told, inode(fd)), *b = of(&written, inode(fd));
	assert_non_null(a);
	assert_non_null(b);
	assert_string_equal(a->local.addr, b->local.addr);
	assert_string_equal(a->peer.addr, b->peer.addr);
	assert_int_equal(a->local.port, b->local.port);
	assert_int_equal(a->peer.port, b->peer.port);
	assert_int_equal(a->state, state);
	assert_int_equal(b->state, state);
	if (state == LISTENS)
		return; // they mean other queues then
	assert_int_equal(a->sent, sent);
	assert_int_equal(b->sent, sent);
	assert_int_equal(a->queued, queued);
	assert_int_equal(b->queued, queued);
}

static int reset(void **state)
{
	(void)state;
	free(told.v);
	free(written.v);
	told = written = (struct inets){0};
	return 0;
}

static void read_both(uint8_t family, uint8_t protocol, const char *file)
{
	int s = sock_diag_open(getpid());
	int e = dump_inets(&told, s, family, protocol);
	sock_diag_close(s);
	if (e)
		skip(); // no diagnosis here
	assert_true(read_inets(&written, getpid(), file));
}

static int listener(int family)
{
	struct sockaddr_storage a = {.ss_family = (sa_family_t)family};
	if (family == AF_INET6)
		((struct sockaddr_in6 *)&a)->sin6_addr = in6addr_loopback;
	else
		((struct sockaddr_in *)&a)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int l = socket(family, SOCK_STREAM, 0);
	if (l < 0 || bind(l, (void *)&a, sizeof(a)) || listen(l, 5))
		skip(); // no such network here
	return l;
}

static int client_of(int l)
{
	struct sockaddr_storage a;
	socklen_t n = sizeof(a);
	assert_int_equal(getsockname(l, (void *)&a, &n), 0);
	int c = socket(a.ss_family, SOCK_STREAM, 0);
	assert_int_equal(connect(c, (void *)&a, n), 0);
	return c;
}

static void connections(int family, const char *file)
{
	int l = listener(family), c = client_of(l), s = accept(l, NULL, NULL), waits = 0;
	assert_int_equal(write(c, "seventeen bytes..", 17), 17);
	while (waits < 17) // acknowledged by then: loopback
		assert_int_equal(ioctl(s, FIONREAD, &waits), 0);
	read_both((uint8_t)family, IPPROTO_TCP, file);
	same(l, LISTENS, 0, 0);
	same(c, ESTABLISHED, 0, 0);
	same(s, ESTABLISHED, 0, 17);
	assert_true(same_end(&of(&told, inode(c))->local, &of(&told, inode(s))->peer));
	close(s);
	close(c);
	close(l);
}

static void of_version_4(void **state)
{
	(void)state;
	connections(AF_INET, "net/tcp");
}

static void of_version_6(void **state)
{
	(void)state;
	connections(AF_INET6, "net/tcp6");
}

static void datagrams(void **state)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	(void)state;
	assert_int_equal(bind(fd, (void *)&a, sizeof(a)), 0);
	assert_int_equal(getsockname(fd, (void *)&a, &n), 0);
	assert_int_equal(sendto(fd, "x", 1, 0, (void *)&a, n), 1);
	read_both(AF_INET, IPPROTO_UDP, "net/udp");
	const struct inet *b = of(&written, inode(fd));
	assert_true(b && b->queued > 0);
	same(fd, b->state, 0, b->queued);
	close(fd);
}

// The one that closed first waits, and has no file; only the file has it.
static void those_that_are_over(void **state)
{
	int l = listener(AF_INET), c = client_of(l), s = accept(l, NULL, NULL);
	struct sockaddr_in a, to;
	socklen_t n = sizeof(a);
	char byte;
	bool waiting = false;
	(void)state;
	assert_int_equal(getsockname(c, (void *)&a, &n) || getpeername(c, (void *)&to, &n), 0);
	assert_int_equal(shutdown(c, SHUT_WR), 0);
	assert_int_equal(read(s, &byte, 1), 0);
	close(s);
	assert_int_equal(read(c, &byte, 1), 0);
	close(c);
	close(l);
	read_both(AF_INET, IPPROTO_TCP, "net/tcp");
	for (size_t i = 0; i < written.n; i++)
		waiting |= written.v[i].state == TIME_WAIT && written.v[i].local.port == ntohs(a.sin_port) &&
			   written.v[i].peer.port == ntohs(to.sin_port);
	assert_true(waiting);
	for (size_t i = 0; i < told.n; i++)
		assert_int_not_equal(told.v[i].state, TIME_WAIT);
}

// What cannot be asked for is read.
static void no_diagnosis(void **state)
{
	(void)state;
	assert_true(dump_inets(&told, -1, AF_INET, IPPROTO_TCP) < 0);
	int s = sock_diag_open(getpid());
	if (s < 0)
		skip();
	assert_true(dump_inets(&told, s, AF_INET, 200) < 0);
	assert_true(dump_inets(&told, s, AF_INET, IPPROTO_TCP) <= 0); // the next question is answered again
	sock_diag_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(of_version_4, reset),        cmocka_unit_test_setup(of_version_6, reset),
		cmocka_unit_test_setup(datagrams, reset),           cmocka_unit_test_setup(those_that_are_over, reset),
		cmocka_unit_test_setup_teardown(no_diagnosis, reset, reset),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
