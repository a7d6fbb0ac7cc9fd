// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// After Icinga/icinga2 issue 9986: to disconnect, a coroutine shuts TLS down
// politely, without a timeout: it sends its close_notify and waits for the
// peer's, but the peer has gone away silently. The connection hangs for ever;
// yet its registration is live and its queue empty. By the kernel it is as
// healthy as any idle keep-alive, and only its age tells: no finding, but the
// report's longest waits, by stack, show where it sits.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static const char close_notify[] = {21, 3, 3, 0, 2, 1, 0}; // an alert
static int ep, conns[3];

static ssize_t tls_read(int fd, char *record, size_t n)
{
	return co_read(ep, fd, record, n);
}

static void async_shutdown(int fd)
{
	char record[64];
	must(co_write(ep, fd, close_notify, sizeof(close_notify)));
	while (tls_read(fd, record, sizeof(record)) > 0) // fault
		if (record[0] == close_notify[0])
			break;
}

static void process_messages(void *arg)
{
	int fd = *(int *)arg;
	char request[64];
	while (tls_read(fd, request, sizeof(request)) > 0 && request[0] != 'Q')
		;
	async_shutdown(fd);
	close(fd);
}

int main(void)
{
	char alert[sizeof(close_notify)];
	int peers[3];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 3; i++) {
		int fds[2];
		pair("tcp", fds);
		conns[i] = fds[0];
		peers[i] = fds[1];
		co_start(process_messages, &conns[i]);
	}
	must(write(peers[0], "Q", 1)); // it is sent, and nothing more ever comes
	while (read(peers[0], alert, sizeof(alert)) != sizeof(alert))
		co_turn(ep, -1);
	say("ready");
	co_loop(ep);
}
