// SPDX-License-Identifier: MIT
//
// The socket has a name only until ctp-run has a descriptor of its inode. A client connects by way of
// /proc/PID/fd, which takes the right to look at ctp-run's descriptors, and the kernel says who it is
// (SO_PEERCRED). So there is no name to guess, to leave behind, or to squat on. No call here waits for a
// client.
#include "engine/control/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/start/sock.h"
#include "engine/target/log.h"

enum { PEERS = 8, REQUEST_BYTES = 65536 };
#define ASK_WITHIN_NS 2000000000ULL // of a connection

struct peer {
	int fd; // -1: none
	uint64_t since_ns;
};

struct control {
	struct sock sock;
	struct peer peers[PEERS];
	int detach; // the client that waits for it; -1: none
};

void control_open(struct session *s)
{
	struct control *c = s->control = calloc(1, sizeof(*c));
	if (!c)
		return;
	c->detach = -1;
	for (unsigned i = 0; i < PEERS; i++)
		c->peers[i].fd = -1;
	int r = sock_init(&c->sock, SOCK_SEQPACKET, SLOT_CONTROL);
	if (!r)
		r = sock_bind(&c->sock, s->recorder.output.parent);
	if (r < 0) {
		log_line(LOG_MORE, "cannot make the socket for ctp-ctl: %s", strerror(-r));
		control_close(s);
	}
}

static void hang_up(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void control_close(struct session *s)
{
	struct control *c = s->control;
	if (!c)
		return;
	for (unsigned i = 0; i < PEERS; i++)
		hang_up(&c->peers[i].fd);
	hang_up(&c->detach);
	sock_deinit(&c->sock);
	free(c);
	s->control = NULL;
}

static bool may_ask(int fd)
{
	struct ucred who;
	socklen_t n = sizeof(who);
	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) && (who.uid == geteuid() || who.uid == 0);
}

static void answer_more(int fd, const char *state, const char *text, const char *key, json_t *value)
{
	json_t *o = json_pack("{s:s, s:s}", "state", state, "text", text);
	if (o && value)
		json_object_set_new(o, key, value);
	else
		json_decref(value);
	char *words = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	if (words)
		send(fd, words, strlen(words), MSG_DONTWAIT | MSG_NOSIGNAL);
	free(words);
}

static void answer(int fd, const char *state, const char *text)
{
	answer_more(fd, state, text, NULL, NULL);
}

static void give(int fd, struct control_reply *r)
{
	static const char *const states[] = {
		[CONTROL_OK] = "ok", [CONTROL_REFUSED] = "refused", [CONTROL_USAGE] = "usage"};
	if (r->pending)
		answer_more(fd, states[r->state], r->text, "pending", json_true());
	else
		answer_more(fd, states[r->state], r->text, "status", r->status);
}

// ctp-run's own number stands for its first process.
static bool is_ours(const struct session *s, json_int_t pid)
{
	bool any = pid == getpid();
	for (size_t i = 0; i < s->n_processes; i++)
		any |= !s->processes[i]->ended && s->processes[i]->pid == pid;
	return any;
}

// True: he is to wait for the answer.
static bool serve(struct session *s, int fd, const char *request, size_t n)
{
	const char *verb, *arg = "";
	json_int_t pid;
	struct control_reply r = {.state = CONTROL_OK};
	json_t *o = json_loadb(request, n, 0, NULL);
	if (!o || json_unpack(o, "{s:s, s:I, s?s}", "verb", &verb, "pid", &pid, "arg", &arg))
		answer(fd, "refused",
		       "the request was not understood: ctp-ctl and ctp-run are of different versions");
	else if (!is_ours(s, pid))
		answer(fd, "not mine", "");
	else if (control_do(s, verb, arg, &r), r.state != CONTROL_LATER)
		give(fd, &r);
	json_decref(o);
	return r.state == CONTROL_LATER;
}

// True: there is no more to do with this peer.
static bool hear(struct session *s, struct peer *p)
{
	static char request[REQUEST_BYTES];
	ssize_t n = recv(p->fd, request, sizeof(request), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return clock_mono_ns() - p->since_ns > ASK_WITHIN_NS;
	if (n > 0 && serve(s, p->fd, request, (size_t)n)) {
		hang_up(&s->control->detach);
		s->control->detach = p->fd;
		p->fd = -1;
	}
	return true;
}

void control_turn(struct session *s)
{
	struct control *c = s->control;
	bool more = true; // who knocks, until the kernel says that there is nobody
	for (unsigned i = 0; c && i < PEERS; i++) {
		struct peer *p = &c->peers[i];
		if (p->fd < 0 && more) {
			p->fd = accept4(c->sock.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
			p->since_ns = p->fd < 0 ? 0 : clock_mono_ns();
			more = p->fd >= 0;
		}
		if (p->fd < 0)
			continue;
		if (!may_ask(p->fd))
			answer(p->fd, "refused", "it is another user's");
		if (!may_ask(p->fd) || hear(s, p))
			hang_up(&p->fd);
	}
}

bool control_detach(const struct session *s)
{
	return s->control && s->control->detach >= 0;
}

void control_detached(struct session *s, bool done, const char *text)
{
	if (!control_detach(s))
		return;
	answer(s->control->detach, done ? "ok" : "refused", text);
	hang_up(&s->control->detach);
}
