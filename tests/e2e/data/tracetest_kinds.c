// SPDX-License-Identifier: MIT
//
// Synchronous tests that fail in each way, and ones that pass: tracetest_kinds KIND. A line of the program
// that a check looks for has a comment at its end, "// AT name".
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ctp/event.h>
#include <ctp/tracetest.h>

enum color { RED, GREEN = 7 };

CTP_EVENT(kind, step, (int, n), (const char *, what));
CTP_EVENT(kind, other);
CTP_EVENT(kind, all, (int8_t, a), (uint64_t, b), (double, c), (void *, d), (const char *, e), (ctp_bytes, f),
	  (enum color, g));
CTP_EVENT(channel, sent, (int, value));
CTP_EVENT(channel, received, (int, value));

static ctp_test t;

// ------------------------------------------------------------------ a channel of one value

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int full, held;

static void channel_put(int value)
{
	pthread_mutex_lock(&lock);
	while (full)
		pthread_cond_wait(&changed, &lock);
	held = value;
	full = 1;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
}

static int channel_get(void)
{
	int value;
	pthread_mutex_lock(&lock);
	while (!full)
		pthread_cond_wait(&changed, &lock);
	value = held;
	full = 0;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	return value;
}

static void *sender(void *arg)
{
	int i;
	for (i = 1; i <= 2; i++) {
		channel_put(i);
		ctp_event(channel, sent, i);
	}
	return arg;
}

static void *receiver(void *arg)
{
	int i;
	for (i = 1; i <= 2; i++)
		ctp_event(channel, received, channel_get());
	return arg;
}

// ------------------------------------------------------------------ actors

static void *two_steps(void *arg)
{
	ctp_event(kind, step, 1, "first, of two"); // AT first
	ctp_event(kind, step, 2, NULL);            // AT second
	return arg;
}

static void *step_and_other(void *arg)
{
	ctp_event(kind, step, 1, "one"); // AT one
	ctp_event(kind, other);          // AT other
	return arg;
}

static void *only_other(void *arg)
{
	ctp_event(kind, other); // AT only
	return arg;
}

static void *values(void *arg)
{
	ctp_event(kind, all, (int8_t)-3, UINT64_MAX, 1.5, &t, "text", ctp_bytes_of("\1\xff", 2), GREEN);
	return arg;
}

static pthread_t threads[4];
static int begun;

static void begin(void *(*actor)(void *))
{
	if (pthread_create(&threads[begun++], NULL, actor, NULL) != 0)
		abort();
}

static void join_all(void)
{
	while (begun)
		pthread_join(threads[--begun], NULL);
}

// ------------------------------------------------------------------ tests

static jmp_buf out;

static void leave(const char *text, void *data)
{
	fputs(text, (FILE *)data);
	longjmp(out, 1);
}

// Until that many streams have an event.
static void arrived(unsigned streams)
{
	while (__atomic_load_n(&t.rows, __ATOMIC_ACQUIRE) < streams)
		sched_yield();
}

static void fail(const char *kind)
{
	if (strcmp(kind, "missing") == 0) {
		t.timeout_ms = 50;
		CTP_EXPECT(&t, "n 1", "kind:step", "n=%d", 1); // AT missing
	} else if (strcmp(kind, "unexpected") == 0) {
		begin(step_and_other);
		CTP_EXPECT(&t, "n 1", "kind:other", "x=%d", 5); // AT unexpected
	} else if (strcmp(kind, "fields") == 0) {
		begin(two_steps);
		CTP_EXPECT(&t, "n 1", "kind:step", "n=%d", 2); // AT fields
	} else if (strcmp(kind, "timeout") == 0) {
		t.timeout_ms = 50;
		begin(two_steps);
		join_all(); // the first step is not expected
	} else if (strcmp(kind, "end") == 0) {
		begin(two_steps);
		CTP_EXPECT(&t, "n 1", "kind:step", "what=first, of two, n=%d", 1); // AT end-first
		CTP_GO(&t, "n 1");
		arrived(2);
	} else if (strcmp(kind, "deadlock") == 0) {
		begin(step_and_other);
		CTP_EXPECT(&t, "n 1", "kind:step"); // AT deadlock-first
		CTP_GO(&t, "n 1");
		CTP_EXPECT(&t, "n 1", "kind:step"); // AT deadlock
	} else if (strcmp(kind, "held") == 0) {
		begin(two_steps);
		CTP_EXPECT(&t, "n 1", "kind:step"); // AT held-first
		CTP_EXPECT(&t, "n 1", "kind:step"); // AT held
	} else if (strcmp(kind, "itself") == 0) {
		ctp_event(kind, step, 1, "mine"); // AT itself
	} else if (strcmp(kind, "go") == 0) {
		CTP_GO(&t, "n 1"); // AT go
	} else if (strcmp(kind, "elsewhere") == 0) {
		begin(two_steps);
		arrived(1);
		begin(only_other);
		arrived(2);
		CTP_EXPECT(&t, "n 1", "kind:other"); // AT elsewhere
	}
}

static void fail_in_one_stream(const char *kind)
{
	begin(step_and_other);
	if (strcmp(kind, "race") == 0) {
		begin(two_steps);
		CTP_EXPECT(&t, "all", "kind:step");
		CTP_EXPECT(&t, "none", "kind:step"); // until the second is there
	} else {
		CTP_EXPECT(&t, "all", "kind:step"); // AT earlier-first
		CTP_GO(&t, "all");
		CTP_EXPECT(&t, "all", "kind:step"); // AT earlier
	}
}

static void channel(void)
{
	int i;
	CTP_STREAM(&t, "sender", "channel:sent");
	CTP_STREAM(&t, "receiver", "channel:received");
	begin(sender);
	begin(receiver);
	for (i = 1; i <= 2; i++) {
		CTP_EXPECT(&t, "sender", "channel:sent", "value=%d", i);
		CTP_EXPECT(&t, "receiver", "channel:received", "value=%d", i);
		if (full)
			abort(); // both are paused, and the channel is empty
		CTP_GO(&t, "sender");
		CTP_GO(&t, "receiver");
	}
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	ctp_test_begin(&t);
	t.timeout_ms = 60000;
	if (strcmp(kind, "abort") != 0) {
		t.fail = leave;
		t.data = stdout;
	}
	if (setjmp(out) != 0) {
		join_all(); // no event pauses any more
		CTP_END(&t);
		return 3;
	}
	if (strcmp(kind, "setup") == 0) {
		CTP_STREAM(&t, "s", "kind:nothing"); // AT setup
	} else if (strcmp(kind, "abort") == 0) {
		CTP_GO(&t, "s");
	} else if (strcmp(kind, "channel") == 0) {
		channel();
	} else if (strcmp(kind, "values") == 0) {
		CTP_STREAM(&t, "{e} {g} {h}", "kind:all");
		begin(values);
		CTP_EXPECT(&t, "text 7 {h}", "kind:all", "g=7, a=%d, b=%llu, c=1.5, d=%p, e=text, f=01ff", -3,
			   (unsigned long long)UINT64_MAX, (void *)&t);
	} else if (strcmp(kind, "race") == 0 || strcmp(kind, "earlier") == 0) {
		CTP_STREAM(&t, "all", "kind:step kind:other");
		fail_in_one_stream(kind);
	} else {
		CTP_STREAM(&t, "n {n}", "kind:step");
		CTP_STREAM(&t, "other", "kind:other");
		fail(kind);
	}
	CTP_END(&t); // AT end
	join_all();
	puts("passed");
	return 0;
}
