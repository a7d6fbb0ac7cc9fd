// SPDX-License-Identifier: MIT
// expect: CTP002 suspect..likely, 1 coroutine
// needs: libglib2.0-dev
//
// A reader of journals on GLib's main loop. The callback of a source resumes the
// coroutine, and says whether the source shall stay: if the coroutine wants more.
// It says so after each line, but not after a comment: the source goes, the
// coroutine waits where it always does, and the journal fills.
#include <glib-unix.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { JOURNALS = 3 };

static struct journal {
	struct co *co;
	int fd, writer;
	gboolean more;
} journals[JOURNALS];

static gboolean on_ready(gint fd, GIOCondition condition, gpointer data)
{
	struct journal *j = data;
	(void)fd, (void)condition;
	j->more = FALSE;
	co_resume(j->co);
	return j->more ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static void journal_main(void *arg)
{
	struct journal *j = arg;
	char line[4];
	for (;;) {
		co_yield(); // fault
		if (read(j->fd, line, sizeof(line)) <= 0)
			return;
		if (line[0] != '#')
			j->more = TRUE;
	}
}

static gboolean on_tick(gpointer data)
{
	static int turn;
	int at = turn++;
	(void)data;
	if (at < 3 * JOURNALS)
		must(write(journals[at % JOURNALS].writer, "line", 4));
	else if (at == 3 * JOURNALS)
		must(write(journals[1].writer, "# up", 4));
	else if (at == 4 * JOURNALS)
		must(write(journals[1].writer, "line", 4));
	else if (at == 80) // a second and more
		say("ready");
	return G_SOURCE_CONTINUE;
}

int main(void)
{
	for (int i = 0; i < JOURNALS; i++) {
		int ends[2];
		pair("pipe", ends);
		journals[i].fd = ends[0];
		journals[i].writer = ends[1];
		journals[i].co = co_new(journal_main, &journals[i]);
		co_resume(journals[i].co);
		g_unix_fd_add(ends[0], G_IO_IN, on_ready, &journals[i]);
	}
	g_timeout_add(20, on_tick, NULL);
	g_main_loop_run(g_main_loop_new(NULL, FALSE));
}
