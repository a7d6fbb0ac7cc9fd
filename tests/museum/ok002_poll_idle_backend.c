// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
//
// A gateway in a loop around poll. A session borrows a connection to the backend
// for each request, waits for the answer where it waits for all that it reads, and
// gives the connection back: it is in nobody's set then. The backend has said
// goodbye there meanwhile, which whoever borrows it next will see.
#include "ordered.h"
#include "poller.h"

enum { SESSIONS = 3 };

static struct poller loop;
static struct session {
	int client, peer, answered;
	struct co *co;
} sessions[SESSIONS];
static int pool[SESSIONS], servers[SESSIONS], npool;

// From the client, or from the backend: its events alone tell when.
static NOINLINE ssize_t receive(int fd, struct session *s, char *buf, size_t n)
{
	poller_put(&loop, fd, POLLIN, s->co);
	co_yield();
	return read(fd, buf, n);
}

static void session_main(void *arg)
{
	struct session *s = arg;
	char text[64];
	int backend = -1;
	for (;;) { // a request, and its answer
		ssize_t n = receive(backend < 0 ? s->client : backend, s, text, sizeof(text));
		if (n <= 0)
			break;
		if (backend < 0) {
			backend = pool[--npool];
			must(write(backend, text, (size_t)n));
		} else {
			must(write(s->client, text, (size_t)n));
			pool[npool++] = backend;
			backend = -1;
			s->answered++;
		}
	}
	ended++;
}

static NOINLINE void ask(struct session *s, int server)
{
	char text[64];
	must(write(s->peer, "query", 5));
	poller_turn(&loop, -1);
	must(read(server, text, sizeof(text)));
	must(write(server, "rows", 4));
	int before = s->answered;
	while (s->answered == before)
		poller_turn(&loop, -1);
	must(read(s->peer, text, sizeof(text)));
}

int main(void)
{
	take_orders(SIGUSR1);
	for (int i = 0; i < SESSIONS; i++) {
		int fds[2];
		pair("tcp", fds);
		sessions[i] = (struct session){.client = fds[0], .peer = fds[1]};
		sessions[i].co = co_new(session_main, &sessions[i]);
		co_resume(sessions[i].co);
		pair("tcp", fds);
		pool[npool++] = fds[0];
		servers[i] = fds[1];
	}
	for (int i = 0; i < SESSIONS; i++)
		ask(&sessions[i], servers[npool - 1]);
	for (int i = 0; i < SESSIONS; i++)
		must(write(servers[i], "timeout", 7));
	say("ready");
	while (!ordered)
		poller_turn(&loop, -1);
	for (int i = 0; i < SESSIONS; i++)
		close(sessions[i].peer);
	while (ended < SESSIONS)
		poller_turn(&loop, -1);
	return all_resumed(SESSIONS);
}
