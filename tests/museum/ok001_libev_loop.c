// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
// needs: libev-dev
//
// A logger on libev. Sources have a watcher that stays active; the writer's is
// started only while its pipe is full. libev changes its set late, when the loop
// goes to sleep next: between a stop and a start nothing has happened at all.
#include <ev.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define SOURCES 3

struct source {
	ev_io io; // first
	struct co *co;
	int fd, peer, records;
};

static struct source sources[SOURCES];
static struct {
	ev_io io;
	struct co *co;
	int fd, drain;
	size_t queued, written;
	bool waits_for_data, over;
} out;
static struct ev_loop *loop;
static int ended;

static void on_source(struct ev_loop *l, ev_io *io, int events)
{
	(void)l;
	(void)events;
	co_resume(((struct source *)io)->co);
}

static void on_writable(struct ev_loop *l, ev_io *io, int events)
{
	(void)events;
	ev_io_stop(l, io);
	co_resume(out.co);
}

static void to_write(size_t n)
{
	out.queued += n;
	if (out.waits_for_data) {
		out.waits_for_data = false;
		co_resume(out.co);
	}
}

static void source(void *arg)
{
	struct source *s = arg;
	char record[512];
	for (;;) {
		ssize_t n = read(s->fd, record, sizeof(record));
		if (co_blocked(n)) {
			co_yield();
			continue;
		}
		if (n <= 0)
			break;
		s->records++;
		to_write((size_t)n);
	}
	ev_io_stop(loop, &s->io);
	close(s->fd);
	ended++;
}

static void writer(void *arg)
{
	static const char zeros[4096];
	(void)arg;
	while (!out.over) {
		size_t rest = out.queued - out.written;
		if (!rest) {
			out.waits_for_data = true;
			co_yield();
			continue;
		}
		ssize_t n = write(out.fd, zeros, rest < sizeof(zeros) ? rest : sizeof(zeros));
		if (co_blocked(n)) {
			ev_io_start(loop, &out.io);
			co_yield();
		} else {
			out.written += (size_t)n;
		}
	}
	ended++;
}

static NOINLINE void open_source(struct source *s)
{
	int fds[2];
	pair("unix", fds);
	s->fd = fds[0];
	s->peer = fds[1];
	ev_io_init(&s->io, on_source, s->fd, EV_READ);
	ev_io_start(loop, &s->io);
	s->co = co_new(source, s);
	co_resume(s->co);
}

static NOINLINE void record(struct source *s)
{
	static const char text[512] = "record";
	int before = s->records;
	must(write(s->peer, text, sizeof(text)));
	while (s->records == before)
		ev_run(loop, EVRUN_ONCE);
}

static NOINLINE void drain(void)
{
	char buf[65536];
	while (out.written < out.queued) {
		while (read(out.drain, buf, sizeof(buf)) > 0)
			;
		ev_run(loop, EVRUN_ONCE);
	}
}

static void on_signal(struct ev_loop *l, ev_signal *s, int events)
{
	(void)events;
	ev_signal_stop(l, s);
	ev_break(l, EVBREAK_ALL);
}

int main(void)
{
	static ev_signal order;
	int fds[2];
	loop = ev_default_loop(0);
	ev_signal_init(&order, on_signal, SIGUSR1);
	ev_signal_start(loop, &order);
	pair("pipe", fds);
	out.drain = fds[0];
	out.fd = fds[1];
	ev_io_init(&out.io, on_writable, out.fd, EV_WRITE);
	out.co = co_new(writer, NULL);
	co_resume(out.co);
	for (int i = 0; i < SOURCES; i++)
		open_source(&sources[i]);
	for (int round = 0; round < 2; round++) { // until the pipe is full: once it is emptied, once it is not
		while (!ev_is_active(&out.io))
			for (int i = 0; i < SOURCES; i++)
				record(&sources[i]);
		if (!round)
			drain();
	}
	say("ready");
	ev_run(loop, 0);
	drain();
	for (int i = 0; i < SOURCES; i++)
		close(sources[i].peer);
	while (ended < SOURCES)
		ev_run(loop, EVRUN_ONCE);
	out.over = true;
	to_write(0);
	say(ended == SOURCES + 1 ? "resumed" : "lost");
}
