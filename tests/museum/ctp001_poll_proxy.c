// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 1 coroutine
//
// A mail proxy that polls. Its array of descriptors is made anew for each poll:
// all clients, for good, and those servers that a session waits for. A server
// pool that shrinks closes a connection that is lent; poll says POLLNVAL of it
// once, and the loop strikes the slot out as a thing of the past. The session's
// client is polled on.
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

#include "must.h"

#define SESSIONS 3

static struct session {
	ucontext_t context;
	char stack[24 << 10] __attribute__((aligned(16)));
	int client, user, server, mailbox;
	int waits_for; // the server's descriptor, or -1
	int commands;
} sessions[SESSIONS];
static ucontext_t loop;
static struct session *current;
static int doorbell, nsessions;

static ssize_t ask_server(struct session *s, char *line, size_t n)
{
	ssize_t got;
	must(write(s->server, line, n));
	while ((got = read(s->server, line, n)) < 0 && errno == EAGAIN) {
		s->waits_for = s->server;
		swapcontext(&s->context, &loop);
	}
	s->waits_for = -1;
	return got;
}

static void session_main(void)
{
	struct session *s = current;
	char line[128];
	ssize_t n;
	for (;;) {
		while ((n = read(s->client, line, sizeof(line))) < 0 && errno == EAGAIN)
			swapcontext(&s->context, &loop);
		if (n <= 0 || (n = ask_server(s, line, (size_t)n)) <= 0)
			return;
		must(write(s->client, line, (size_t)n));
		s->commands++;
	}
}

static void resume(struct session *s)
{
	current = s;
	swapcontext(&loop, &s->context);
}

static void open_session(struct session *s)
{
	int client[2], server[2];
	pair("tcp", client);
	pair("tcp", server);
	s->client = client[0];
	s->user = client[1];
	s->server = server[0];
	s->mailbox = server[1];
	s->waits_for = -1;
	must(getcontext(&s->context));
	s->context.uc_stack.ss_sp = s->stack;
	s->context.uc_stack.ss_size = sizeof(s->stack);
	s->context.uc_link = &loop;
	makecontext(&s->context, session_main, 0);
	nsessions++;
	resume(s);
}

static nfds_t gather(struct pollfd *fds, struct session **who)
{
	nfds_t n = 0;
	fds[n++] = (struct pollfd){doorbell, POLLIN, 0};
	for (int i = 0; i < nsessions; i++) {
		struct session *s = &sessions[i];
		who[n] = s;
		fds[n++] = (struct pollfd){s->client, s->waits_for < 0 ? POLLIN : POLLRDHUP, 0};
		if (s->waits_for < 0)
			continue;
		who[n] = s;
		fds[n++] = (struct pollfd){s->waits_for, POLLIN, 0};
	}
	return n;
}

static void turn(void)
{
	struct pollfd fds[1 + 2 * SESSIONS];
	struct session *who[1 + 2 * SESSIONS];
	nfds_t n = gather(fds, who);
	if (poll(fds, n, -1) <= 0)
		return;
	if (fds[0].revents)
		close(accept(doorbell, NULL, NULL));
	for (nfds_t i = 1; i < n; i++)
		if (fds[i].revents & POLLNVAL)
			who[i]->waits_for = -1;
		else if (fds[i].revents)
			resume(who[i]);
}

static void shrink_pool(struct session *borrower)
{
	close(borrower->server); // fault
}

int main(void)
{
	int port;
	doorbell = tcp_listen(&port);
	for (int i = 0; i < SESSIONS; i++) {
		open_session(&sessions[i]);
		must(write(sessions[i].user, "NOOP", 4));
		while (sessions[i].waits_for < 0)
			turn();
	}
	must(write(sessions[0].mailbox, "OK", 2));
	while (!sessions[0].commands)
		turn();
	shrink_pool(&sessions[1]);
	turn();
	say("ready");
	for (;;)
		turn();
}
