// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
// needs: libglib2.0-dev
//
// A desktop service on GLib's main loop: each wait is a source that is made for
// it and removes itself when it has fired. One client is asked for an answer with a
// time limit, so two sources lead to its coroutine, and whichever fires removes
// the other.
#include <glib-unix.h>
#include <glib.h>
#include <signal.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define CLIENTS 4

struct client {
	struct co *co;
	int fd, peer;
	guint watch, limit;
	int calls, late;
};

static GPtrArray *clients;
static int ended;

static void fired(struct client *c, guint *other)
{
	if (*other)
		g_source_remove(*other);
	c->watch = c->limit = 0;
	co_resume(c->co);
}

static gboolean on_readable(gint fd, GIOCondition condition, gpointer arg)
{
	struct client *c = arg;
	(void)fd;
	(void)condition;
	fired(c, &c->limit);
	return G_SOURCE_REMOVE;
}

static gboolean on_limit(gpointer arg)
{
	struct client *c = arg;
	c->late++;
	fired(c, &c->watch);
	return G_SOURCE_REMOVE;
}

static ssize_t client_read(struct client *c, char *buf, size_t n, guint limit_ms)
{
	ssize_t r = read(c->fd, buf, n);
	int late = c->late;
	while (co_blocked(r) && c->late == late) {
		c->watch = g_unix_fd_add(c->fd, G_IO_IN | G_IO_HUP, on_readable, c);
		c->limit = limit_ms ? g_timeout_add(limit_ms, on_limit, c) : 0;
		co_yield();
		r = read(c->fd, buf, n);
	}
	return r;
}

static void serve(void *arg)
{
	struct client *c = arg;
	char call[64];
	guint limit = 1; // the first time it is too short
	for (;;) {
		ssize_t n = client_read(c, call, sizeof(call), limit);
		limit = c == g_ptr_array_index(clients, 0) ? 3600 * 1000 : 0;
		if (n == 0)
			break;
		if (n > 0)
			c->calls++;
	}
	close(c->fd);
	ended++;
}

static NOINLINE void connect_client(void)
{
	struct client *c = g_new0(struct client, 1);
	int fds[2];
	pair("unix", fds);
	c->fd = fds[0];
	c->peer = fds[1];
	g_ptr_array_add(clients, c);
	c->co = co_new(serve, c);
	co_resume(c->co);
	while (!c->late)
		g_main_context_iteration(NULL, TRUE);
}

static NOINLINE void call_each(int upto)
{
	for (guint i = 0; i < clients->len; i++) {
		struct client *c = g_ptr_array_index(clients, i);
		must(write(c->peer, "call", 4));
		while (c->calls < upto)
			g_main_context_iteration(NULL, TRUE);
	}
}

static gboolean on_signal(gpointer arg)
{
	g_main_loop_quit(arg);
	return G_SOURCE_REMOVE;
}

static NOINLINE void hang_up(gpointer arg, gpointer unused)
{
	struct client *c = arg;
	int before = ended;
	(void)unused;
	close(c->peer);
	while (ended == before)
		g_main_context_iteration(NULL, TRUE);
}

int main(void)
{
	GMainLoop *loop = g_main_loop_new(NULL, FALSE);
	clients = g_ptr_array_new_with_free_func(g_free);
	g_unix_signal_add(SIGUSR1, on_signal, loop);
	for (int i = 0; i < CLIENTS; i++)
		connect_client();
	call_each(1);
	say("ready");
	g_main_loop_run(loop);
	call_each(2);
	g_ptr_array_foreach(clients, hang_up, NULL);
	g_ptr_array_free(clients, TRUE);
	g_main_loop_unref(loop);
	say(ended == CLIENTS ? "resumed" : "lost");
}
