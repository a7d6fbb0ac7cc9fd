// SPDX-License-Identifier: MIT
//
// fds_entries.h - for the tests of the table of descriptors behind the real hooks: such a test defines close,
// open, epoll_ctl ... as libctp.so does, over a fake guest, so that what is tested is what runs. Only while
// `traced` is set does a hook do anything.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "fake_guest.h"
#include "preload/guest/real.h"

#define TEST(f) cmocka_unit_test_setup_teardown(f, fake_guest_setup, fake_guest_teardown)

static inline struct ctp_fd *entry(int fd)
{
	return &tracer.region.fds[fd];
}

static inline uint32_t candidates(void)
{
	return tracer.region.ext->cand_count;
}

// `co` reads until EAGAIN and suspends; `other` runs. Returns the other end.
static inline int wait_on_pipe(int fd[2])
{
	char c;
	assert_int_equal(pipe2(fd, O_NONBLOCK), 0);
	errno = 0;
	assert_int_equal(read(fd[0], &c, 1), -1);
	assert_int_equal(errno, EAGAIN);
	fake_guest_switch(other);
	return fd[1];
}
