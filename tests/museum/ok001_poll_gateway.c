// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
//
// A gateway on poll: one coroutine for each direction of a line, and both of a line wait
// for its two descriptors in one array. A line that was closed has been taken out,
// and its number is another line's now.
#include "ordered.h"
#include "poller.h"

#define LINES 3

struct direction {
	struct line *line;
	int from, to, *passed;
};

struct line {
	int left[2], right[2]; // ours, theirs
	int to_right, to_left, open;
	struct direction directions[2];
};

static struct poller poller;
static struct line lines[LINES + 1];

static void pump(void *arg)
{
	const struct direction *d = arg;
	char buf[64];
	ssize_t n;
	while ((n = poller_read(&poller, d->from, buf, sizeof(buf))) > 0) {
		must(write(d->to, buf, (size_t)n));
		++*d->passed;
	}
	d->line->open--;
	ended++;
}

static NOINLINE void open_line(struct line *l)
{
	pair("unix", l->left);
	pair("tcp", l->right);
	l->open = 2;
	l->directions[0] = (struct direction){l, l->left[0], l->right[0], &l->to_right};
	l->directions[1] = (struct direction){l, l->right[0], l->left[0], &l->to_left};
	for (int i = 0; i < 2; i++)
		co_start(pump, &l->directions[i]);
}

static NOINLINE void exchange(struct line *l)
{
	char buf[16];
	int before = l->to_right;
	must(write(l->left[1], "question", 8));
	while (l->to_right == before)
		poller_turn(&poller, -1);
	must(read(l->right[1], buf, sizeof(buf)));
	before = l->to_left;
	must(write(l->right[1], "answer", 6));
	while (l->to_left == before)
		poller_turn(&poller, -1);
	must(read(l->left[1], buf, sizeof(buf)));
}

static NOINLINE void close_line(struct line *l)
{
	close(l->left[1]);
	close(l->right[1]);
	while (l->open)
		poller_turn(&poller, -1);
	close(l->left[0]);
	close(l->right[0]);
}

int main(void)
{
	take_orders(SIGUSR1);
	for (int i = 0; i < LINES; i++)
		open_line(&lines[i]);
	for (int i = 0; i < LINES; i++)
		exchange(&lines[i]);
	close_line(&lines[0]);
	open_line(&lines[LINES]); // with its numbers
	exchange(&lines[LINES]);
	say("ready");
	while (!ordered)
		poller_turn(&poller, -1);
	for (int i = 1; i <= LINES; i++)
		exchange(&lines[i]);
	for (int i = 1; i <= LINES; i++)
		close_line(&lines[i]);
	return all_resumed(2 * LINES + 2);
}
