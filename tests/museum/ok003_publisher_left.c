// SPDX-License-Identifier: MIT
// expect: clean
//
// One client publishes, and two have subscribed. The publisher goes, and its session ends. Others may come:
// those who have subscribed wait for them.
#include "asked.h"

enum { SUBSCRIBERS = 2, ITEMS = 8 };

static int left;

static void session(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char what;
	while (co_read(ep, fd, &what, 1) == 1) {
		while (what == 's') {
			park();
			must(write(fd, "i", 1));
		}
		while (nparked)
			unpark_first();
	}
	close(fd);
	left++;
}

static void publish(int client, const int *subscribers)
{
	long before = now_ms();
	ask(client, 'p');
	for (int i = 0; i < SUBSCRIBERS; i++)
		answer_to(subscribers[i]);
	long took = now_ms() - before;
	longest_ms = took > longest_ms ? took : longest_ms;
}

int main(void)
{
	int clients[SUBSCRIBERS], publisher;
	open_server();
	publisher = dial();
	for (int i = 0; i < SUBSCRIBERS; i++) {
		ask(clients[i] = dial(), 's');
		while (nparked <= i)
			turn();
	}
	for (int i = 0; i < ITEMS; i++)
		publish(publisher, clients);
	close(publisher);
	while (!left)
		turn();
	serve_for_good(0);
}
