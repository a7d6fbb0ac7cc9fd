// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
// order: SIGUSR1
//
// Requests carry a cookie of eight bytes, as the protocol has them: big-endian.
// The cookie of a pending request is its coroutine. The messages that were
// sent are kept for repetition, and an answer's cookie is what leads back.
#include <endian.h>

#include "ordered.h"

#define REQUESTS 3

struct message {
	uint8_t version, type;
	uint16_t length;
	uint32_t transaction;
	uint64_t cookie; // big-endian
	char body[24];
};

struct sent {
	struct sent *next;
	int fd;
	struct message message;
};

static struct sent *unanswered;
static int ep;

static NOINLINE void fill(struct message *m, uint32_t transaction, struct co *c)
{
	*m = (struct message){.version = 1, .type = 3, .length = htobe16(sizeof(*m)), .transaction = htobe32(transaction)};
	m->cookie = htobe64((uintptr_t)c);
	strcpy(m->body, "lookup");
}

static NOINLINE struct co *asked_by(const struct message *m)
{
	return (struct co *)(uintptr_t)be64toh(m->cookie);
}

static void request(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char answer[64];
	ssize_t n = co_read(ep, fd, answer, sizeof(answer)); // "wait"
	while (n > 0)
		n = co_read(ep, fd, answer, sizeof(answer));
	ended++;
}

static NOINLINE void ask(uint32_t transaction)
{
	struct sent *s = must_alloc(sizeof(*s));
	char question[64];
	int fds[2];
	pair("udp", fds);
	s->fd = fds[0];
	s->next = unanswered;
	unanswered = s;
	struct co *c = co_new(request, (void *)(intptr_t)s->fd);
	fill(&s->message, transaction, c);
	must(write(s->fd, &s->message, offsetof(struct message, cookie)));
	must(read(fds[1], question, sizeof(question)));
	co_resume(c);
	must(write(fds[1], "wait", 4));
	co_turn(ep, -1);
}

static NOINLINE void interface_down(void)
{
	for (struct sent *s = unanswered; s; s = s->next)
		close(s->fd); // fault
}

static NOINLINE void fail_all(void)
{
	while (unanswered) {
		struct sent *s = unanswered;
		unanswered = s->next;
		co_resume(asked_by(&s->message));
		free(s);
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (uint32_t i = 0; i < REQUESTS; i++)
		ask(0x1000 + i);
	interface_down();
	serve_until_ordered(ep);
	fail_all();
	return all_resumed(REQUESTS);
}
