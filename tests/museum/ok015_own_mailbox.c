// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
//
// Actors with mailboxes of their own. A mailbox knows whose it is, and who waits at it
// has a node in its queue: that is its owner. Letters come from clients; the actors are
// idle. So looks a lock, too, that its owner wants once more.
#include "ordered.h"

#define ACTORS 3

struct mailbox {
	struct co *owner;
	struct reader {
		struct reader *next;
		struct co *co;
	} *readers;
	int letters;
};

static struct mailbox *boxes[ACTORS];
static struct co_handler post;
static int ep, outside[2], read_letters;

static NOINLINE void receive(struct mailbox *box)
{
	struct reader me = {box->readers, co_self()};
	while (!box->letters) {
		box->readers = &me;
		co_yield();
	}
	box->letters--;
	read_letters++;
}

static void actor(void *arg)
{
	struct mailbox *box = arg;
	for (int i = 0; i < 2; i++)
		receive(box);
	ended++;
}

static NOINLINE void deliver(struct mailbox *box)
{
	struct reader *r = box->readers;
	box->letters++;
	if (!r)
		return;
	box->readers = r->next;
	co_resume(r->co);
}

static void on_post(struct co_handler *h, uint32_t events)
{
	char to;
	(void)events;
	if (read(h->fd, &to, 1) == 1)
		deliver(boxes[(int)to]);
}

static NOINLINE void open_box(int i)
{
	boxes[i] = must_alloc(sizeof(*boxes[i]));
	boxes[i]->owner = co_new(actor, boxes[i]);
	co_resume(boxes[i]->owner);
}

static NOINLINE void send_all(void)
{
	for (char i = 0; i < ACTORS; i++) {
		int before = read_letters;
		must(write(outside[1], &i, 1));
		while (read_letters == before)
			co_turn(ep, -1);
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	pair("unix", outside);
	post.fn = on_post;
	post.fd = outside[0];
	co_handle(ep, &post, EPOLLIN);
	for (int i = 0; i < ACTORS; i++)
		open_box(i);
	send_all();
	serve_until_ordered(ep);
	send_all();
	return all_resumed(ACTORS);
}
