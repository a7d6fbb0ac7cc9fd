// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
// needs: libuv1-dev
//
// Coroutines on libuv: a read polls its descriptor by a handle that is started
// for it and stopped afterwards, a sleep is a timer. A pacer sleeps for an
// hour, the others wait for their clients; one polling handle is idle, as its
// coroutine is in the middle of a sleep.
#include <signal.h>
#include <unistd.h>
#include <uv.h>

#include "co.h"
#include "must.h"

#define CONNS 4

static struct task {
	uv_poll_t poll;
	uv_timer_t timer;
	struct co *co;
	int fd, peer, lines;
} tasks[CONNS];
static uint64_t pace_ms = 1;
static int ended;

static void on_poll(uv_poll_t *handle, int status, int events)
{
	struct task *t = handle->data;
	(void)status;
	(void)events;
	uv_poll_stop(handle);
	co_resume(t->co);
}

static void on_timer(uv_timer_t *handle)
{
	struct task *t = handle->data;
	co_resume(t->co);
}

static ssize_t task_read(struct task *t, char *buf, size_t n)
{
	ssize_t r;
	while (co_blocked(r = read(t->fd, buf, n))) {
		must(uv_poll_start(&t->poll, UV_READABLE, on_poll));
		co_yield();
	}
	return r;
}

static void task_sleep(struct task *t, uint64_t ms)
{
	must(uv_timer_start(&t->timer, on_timer, ms, 0));
	co_yield();
}

static void serve(void *arg)
{
	struct task *t = arg;
	char line[32];
	while (task_read(t, line, sizeof(line)) > 0) {
		t->lines++;
		if (t == &tasks[0])
			task_sleep(t, pace_ms); // a slow one
	}
	uv_close((uv_handle_t *)&t->poll, NULL);
	uv_close((uv_handle_t *)&t->timer, NULL);
	ended++;
}

static NOINLINE void open_task(struct task *t)
{
	int fds[2];
	pair("unix", fds);
	t->fd = fds[0];
	t->peer = fds[1];
	must(uv_poll_init(uv_default_loop(), &t->poll, t->fd));
	must(uv_timer_init(uv_default_loop(), &t->timer));
	t->poll.data = t->timer.data = t;
	t->co = co_new(serve, t);
	co_resume(t->co);
}

static NOINLINE void speak(int upto)
{
	for (int i = 0; i < CONNS; i++) {
		must(write(tasks[i].peer, "line", 4));
		while (tasks[i].lines < upto)
			uv_run(uv_default_loop(), UV_RUN_ONCE);
	}
}

static void on_signal(uv_signal_t *handle, int number)
{
	(void)number;
	uv_close((uv_handle_t *)handle, NULL);
	uv_stop(uv_default_loop());
}

int main(void)
{
	uv_signal_t order;
	must(uv_signal_init(uv_default_loop(), &order));
	must(uv_signal_start(&order, on_signal, SIGUSR1));
	for (int i = 0; i < CONNS; i++)
		open_task(&tasks[i]);
	speak(1);
	while (uv_is_active((uv_handle_t *)&tasks[0].timer)) // UV_RUN_ONCE sleeps for ever if it is due at once
		uv_run(uv_default_loop(), UV_RUN_NOWAIT);
	pace_ms = 3600000;
	speak(2);
	say("ready");
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	must(uv_timer_start(&tasks[0].timer, on_timer, 0, 0));
	for (int i = 0; i < CONNS; i++)
		close(tasks[i].peer);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	for (int i = 0; i < CONNS; i++)
		close(tasks[i].fd);
	must(uv_loop_close(uv_default_loop()));
	say(ended == CONNS ? "resumed" : "lost");
}
