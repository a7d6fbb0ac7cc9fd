// SPDX-License-Identifier: MIT
//
// What sockets are set to: numbers of 32 bits and more, and the constants of their filters.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/filter.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "engine/stored/queues.h"

static uint32_t wanted;
static unsigned told, seen;

static void on_bytes(void *ctx, const char *where, const unsigned char *bytes, size_t n)
{
	(void)ctx;
	assert_non_null(strstr(where, "socket fd"));
	told++;
	for (size_t i = 0; i + sizeof(wanted) <= n; i += sizeof(wanted))
		seen += !memcmp(bytes + i, &wanted, sizeof(wanted));
}

// Of a socket of this process.
static unsigned found(int fd, uint32_t number)
{
	struct inspection l = {.pid = getpid(), .deadline_ns = UINT64_MAX};
	struct queues_socket s = {.fd = fd};
	struct queues q = {.l = &l, .bytes = on_bytes, .sockets = &s, .nsockets = 1};
	wanted = number;
	told = seen = 0;
	assert_true(queues_options(&q));
	return seen;
}

static void options_and_filters(void **state)
{
	(void)state;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), small = 6;
	assert_true(fd >= 0);
	found(fd, 0);
	assert_int_equal(told, 0); // nothing is set
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &small, sizeof(small)), 0);
	found(fd, 6);
	assert_int_equal(told, 0); // a number as others
	struct timeval t = {.tv_sec = 0x12d6f0a4};
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)), 0);
	assert_int_equal(found(fd, 0x12d6f0a4), 1);
	t.tv_sec = 0;
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)), 0);
	assert_int_equal(found(fd, 0x12d6f0a4), 0);
	struct sock_filter steps[] = {{BPF_LD | BPF_IMM, 0, 0, 0x12d6f0a4}, {BPF_RET | BPF_K, 0, 0, 0}};
	struct sock_fprog p = {2, steps};
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &p, sizeof(p)), 0);
	assert_int_equal(found(fd, 0x12d6f0a4), 1);
	close(fd);
	assert_int_equal(found(fd, 0x12d6f0a4), 0); // closed meanwhile
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(options_and_filters)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
