// SPDX-License-Identifier: MIT
// expect: CTP002 suspect..likely, 1 coroutine
// needs: libglib2.0-dev
//
// A desktop viewer on GLib's main loop, which polls. Each channel's coroutine
// adds a source for its socket when it must wait. Changing the session removes
// the sources of the channels that it thinks unused, by their ids: one channel's
// coroutine waits by such a source, with its socket open and a message in it.
#include <glib-unix.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { DISPLAY, CURSOR, SOUND, CHANNELS };

struct channel {
	struct co *co;
	guint source, keepalive;
	int fd, server, messages;
	gboolean in_use;
};

static GMainLoop *main_loop;
static GHashTable *channels; // by descriptor

static struct channel *channel_of(int i)
{
	static int fds[CHANNELS];
	if (!fds[i]) {
		struct channel *c = g_new0(struct channel, 1);
		int ends[2];
		pair("unix", ends);
		c->fd = fds[i] = ends[0];
		c->server = ends[1];
		c->in_use = i != SOUND;
		g_hash_table_insert(channels, GINT_TO_POINTER(c->fd), c);
	}
	return g_hash_table_lookup(channels, GINT_TO_POINTER(fds[i]));
}

static gboolean on_ready(gint fd, GIOCondition condition, gpointer data)
{
	struct channel *c = data;
	(void)fd, (void)condition;
	c->source = 0;
	co_resume(c->co);
	return G_SOURCE_REMOVE;
}

static gssize receive(struct channel *c, char *buf, gsize n)
{
	gssize got;
	while (co_blocked(got = recv(c->fd, buf, n, 0))) {
		c->source = g_unix_fd_add(c->fd, G_IO_IN, on_ready, c);
		co_yield(); // fault
	}
	return got;
}

static void channel_main(void *arg)
{
	struct channel *c = arg;
	char message[128];
	while (receive(c, message, sizeof(message)) > 0)
		c->messages++;
}

// No call takes a socket out of a poll: the line to show is where the channel waits.
static void drop_unused(gpointer key, gpointer value, gpointer user)
{
	struct channel *c = value;
	(void)key, (void)user;
	if (!c->in_use && c->source) {
		g_source_remove(c->source);
		c->source = 0;
	}
}

static gboolean on_session(gpointer data)
{
	static int turn;
	(void)data;
	switch (turn++) {
	case 0:
		for (int i = 0; i < CHANNELS; i++)
			must(write(channel_of(i)->server, "hello", 5));
		break;
	case 1:
		g_hash_table_foreach(channels, drop_unused, NULL);
		break;
	case 2:
		for (int i = 0; i < CHANNELS; i++)
			must(write(channel_of(i)->server, "data", 4));
		break;
	case 60: // a second and more
		say("ready");
	}
	return G_SOURCE_CONTINUE;
}

int main(void)
{
	main_loop = g_main_loop_new(NULL, FALSE);
	channels = g_hash_table_new(NULL, NULL);
	for (int i = 0; i < CHANNELS; i++) {
		struct channel *c = channel_of(i);
		c->co = co_new(channel_main, c);
		co_resume(c->co);
	}
	g_timeout_add(20, on_session, NULL);
	g_main_loop_run(main_loop);
}
