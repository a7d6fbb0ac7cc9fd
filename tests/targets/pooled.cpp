// SPDX-License-Identifier: MIT
//
// pooled.cpp - fibers on pooled stacks that register a connection in their last
// slice and return. Nothing releases their stacks, and main closes the connections.
#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

using boost::context::fiber;

int main()
{
	boost::context::pooled_fixedsize_stack stacks;
	std::vector<fiber> fibers;
	std::vector<int> conns;
	int ep = epoll_create1(0);
	for (int i = 0; i < 8; i++) {
		int fds[2];
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds))
			return 1;
		conns.push_back(fds[0]);
		fibers.emplace_back(std::allocator_arg, stacks, [ep, fd = fds[0]](fiber &&back) {
			back = std::move(back).resume();
			epoll_event e{EPOLLIN | EPOLLET, {.fd = fd}};
			epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
			return std::move(back);
		});
		fibers.back() = std::move(fibers.back()).resume();
	}
	for (auto &f : fibers)
		f = std::move(f).resume();
	for (int fd : conns)
		close(fd);
	puts("ready");
	fflush(stdout);
	epoll_event e;
	epoll_wait(ep, &e, 1, -1);
}
