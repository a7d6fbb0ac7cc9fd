// SPDX-License-Identifier: MIT
//
// lost.c - coroutines wait on descriptors, and somebody ends the descriptors
// and forgets the coroutines. KEY=VALUE arguments choose how:
//   loop=single|mn     one thread runs the loop, or four share the set
//   main=join|work|cond  mn: what the main thread does meanwhile
//   fd=tcp|unix|pipe|udp|eventfd    what they wait on
//   how=close|dup2|dup3|fclose|close_range|closefrom|reuse|none (nobody does)
//   by=co|native|thread|sleeper|napper  who does it (sleeper: a thread that stays; napper: for an hour)
//   reg=co|sched|early who calls epoll_ctl; early: registered once, before it
//                      first ran, and it waits without having tried to read
//   engine=ucontext|sjlj|sigalt|fcontext   how they switch (fcontext: where it is linked in)
//   stack=mmap|heap|one  n=COUNT  outside=0|1 (a listening socket in the set)
//   for=read|write
//   keep=none|table|tagged|tls|heap|chain|before|register|pool|row|slot   where a pointer to them is left
//   way=none|tick|timer|control|accept|signal  how they could still be resumed
//   after=MS           tick, timer: when (default an hour)
// Prints "ready" once the state is final. When a way resumes them: "done", 0.
#include "lost.h"

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct lost_options opt = {.loop = "single", .main = "join", .fd = "tcp", .how = "close", .by = "co",
			   .reg = "co", .stack = "mmap", .use = "read", .keep = "none", .way = "none",
			   .n = "1", .outside = "1", .after = "3600000"};
int ep;
int count;
int victims[LOST_MAX];
static int feeders[LOST_MAX];
static FILE *files[LOST_MAX];
static int spare, go, parked, finished;

bool is(const char *value, const char *want)
{
	return strcmp(value, want) == 0;
}

// ---- they wait

static void read_all(int i)
{
	char buf[64];
	if (is(opt.reg, "early"))
		co_yield();
	while (co_read(ep, victims[i], buf, sizeof(buf)) > 0)
		;
}

static void write_all(int i)
{
	char buf[4096] = "";
	while (co_write(ep, victims[i], buf, sizeof(buf)) > 0)
		;
}

static void waiter(void *arg)
{
	int i = (int)(intptr_t)arg;
	if (is(opt.use, "write"))
		write_all(i);
	else
		read_all(i);
	if (__atomic_add_fetch(&finished, 1, __ATOMIC_SEQ_CST) == count) {
		say("done");
		_exit(0);
	}
}

// ---- somebody ends what they wait for

static void take_number(int i)
{
	static int more[LOST_MAX][2];
	static struct co_handler quiet[LOST_MAX];
	must(close(victims[i]));
	pair(opt.fd, more[i]);
	quiet[i].fd = more[i][0];
	co_handle(ep, &quiet[i], EPOLLIN);
	if (more[i][0] != victims[i] && more[i][1] != victims[i])
		abort();
}

static void end_one(int i)
{
	int fd = victims[i];
	if (is(opt.how, "close"))
		must(close(fd));
	else if (is(opt.how, "dup2"))
		must(dup2(spare, fd));
	else if (is(opt.how, "dup3"))
		must(dup3(spare, fd, O_CLOEXEC));
	else if (is(opt.how, "fclose"))
		must(fclose(files[i]));
	else if (is(opt.how, "close_range"))
		must(close_range((unsigned)fd, (unsigned)fd, 0));
	else if (is(opt.how, "closefrom"))
		closefrom(fd); // the highest number
	else if (is(opt.how, "reuse"))
		take_number(i);
	else if (!is(opt.how, "none"))
		abort();
}

static NOINLINE void end_all(void)
{
	for (int i = count - 1; i >= 0; i--)
		end_one(i);
	say("ready");
}

static void closer(void *arg)
{
	(void)arg;
	uint64_t n;
	must(co_read(ep, go, &n, sizeof(n)));
	end_all();
}

static void close_handler(struct co_handler *h, uint32_t events)
{
	(void)events;
	uint64_t n;
	must(read(h->fd, &n, sizeof(n)));
	end_all();
}

static void *close_thread(void *arg)
{
	(void)arg;
	uint64_t n;
	must(read(go, &n, sizeof(n)));
	end_all();
	while (is(opt.by, "napper"))
		sleep(3600);
	if (is(opt.by, "sleeper")) {
		static sem_t never;
		sem_init(&never, 0, 0);
		for (;;)
			sem_wait(&never);
	}
	return NULL;
}

static NOINLINE void start_closer(void)
{
	static struct co_handler h = {.fn = close_handler};
	bool thread = is(opt.by, "thread") || is(opt.by, "sleeper") || is(opt.by, "napper");
	go = (int)must(eventfd(0, thread ? EFD_CLOEXEC : EFD_CLOEXEC | EFD_NONBLOCK));
	h.fd = go;
	if (thread)
		co_thread(close_thread, NULL);
	else if (is(opt.by, "native"))
		co_handle(ep, &h, EPOLLIN | EPOLLONESHOT); // one of the pool takes it
	else
		co_start(closer, NULL);
}

// ---- when all of them have parked for the last time, the closer may go

static void on_parked(struct co *c)
{
	if (c->fn != waiter)
		return;
	int rounds = is(opt.loop, "mn") && is(opt.use, "read") ? 2 : 1;
	uint64_t one = 1;
	if (__atomic_add_fetch(&parked, 1, __ATOMIC_SEQ_CST) == rounds * count)
		must(write(go, &one, sizeof(one)));
}

static NOINLINE void open_victims(void)
{
	spare = (int)must(open("/dev/null", O_RDONLY | O_CLOEXEC));
	for (int i = 0; i < count; i++) {
		int fds[2];
		pair(opt.fd, fds);
		victims[i] = fds[0];
		feeders[i] = fds[1];
	}
	if (is(opt.fd, "pipe") && is(opt.use, "write"))
		victims[0] = feeders[0];
	for (int i = 0; i < count && is(opt.how, "fclose"); i++)
		files[i] = fdopen(victims[i], "r");
	if (is(opt.how, "closefrom")) {
		int low = victims[0];
		victims[0] = (int)must(fcntl(low, F_DUPFD_CLOEXEC, 500));
		must(close(low));
	}
}

// With several loops the waiters are woken once, so that they go on, and then
// wait, on the threads of the pool.
static NOINLINE void feed(void)
{
	uint64_t one = 1;
	for (int i = 0; i < count && is(opt.use, "read"); i++)
		must(write(feeders[i], &one, sizeof(one)));
}

static void run_pool(void)
{
	static pthread_t pool[4];
	static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	for (int i = 0; i < 4; i++)
		pool[i] = co_loop_thread(&ep);
	feed();
	if (is(opt.main, "work"))
		co_loop(ep);
	if (is(opt.main, "cond")) {
		pthread_mutex_lock(&m);
		for (;;)
			pthread_cond_wait(&never, &m);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(pool[i], NULL);
}

static const char **option(const char *key)
{
	static const struct {
		const char *key, **value;
	} all[] = {
		{"loop", &opt.loop}, {"main", &opt.main}, {"fd", &opt.fd},   {"how", &opt.how},
		{"by", &opt.by},     {"reg", &opt.reg},   {"n", &opt.n},     {"stack", &opt.stack},
		{"for", &opt.use},   {"keep", &opt.keep}, {"way", &opt.way}, {"outside", &opt.outside},
		{"after", &opt.after}, {"engine", &opt.engine},
	};
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (is(all[i].key, key))
			return all[i].value;
	fprintf(stderr, "lost: no option %s\n", key);
	exit(2);
}

static void parse(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		char *eq = strchr(argv[i], '=');
		if (!eq)
			exit(2);
		*eq = 0;
		*option(argv[i]) = eq + 1;
	}
	count = atoi(opt.n);
	if (count < 1 || count > LOST_MAX)
		exit(2);
	if (opt.engine && !co_choose(opt.engine)) {
		fprintf(stderr, "lost: no engine %s here\n", opt.engine);
		exit(2);
	}
	co_kind = is(opt.stack, "heap") ? CO_HEAP : is(opt.stack, "one") ? CO_ONE : CO_MMAP;
	co_scheduler_registers = is(opt.reg, "sched");
}

static void outside(void)
{
	static struct co_handler h = {.fn = lost_accept};
	int port;
	if (is(opt.outside, "0"))
		return;
	h.fd = tcp_listen(&port);
	co_handle(ep, &h, EPOLLIN);
	char line[32];
	snprintf(line, sizeof(line), "port %d", port);
	say(line);
}

int main(int argc, char **argv)
{
	parse(argc, argv);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	outside();
	open_victims();
	co_parked = on_parked;
	start_closer();
	for (int i = 0; i < count; i++)
		lost_keep(waiter, i);
	lost_way();
	if (is(opt.loop, "mn"))
		run_pool();
	if (is(opt.way, "tick"))
		lost_tick();
	co_loop(ep);
}
