// SPDX-License-Identifier: MIT
//
// ctp/tracetest.h - synchronous tests: a test expects the events of ctp/event.h that its program signals, one
// after the other, and looks at the program's state while the actor that signalled is paused.
//
//	static ctp_test t;
//	ctp_test_begin(&t);
//	CTP_STREAM(&t, "conn {fd}", "demo:wait demo:end");  these events, one stream for each value of fd
//	CTP_STREAM(&t, "worker", "demo:idle");
//	...start the threads...
//	CTP_EXPECT(&t, "conn 5", "demo:wait");              the stream's next event is this one, else: failure
//	assert(open_conns == 1);                            its actor is paused meanwhile
//	CTP_GO(&t, "conn 5");                               the actor goes on
//	CTP_EXPECT(&t, "conn 5", "demo:end", "status=%d", 0);
//	CTP_GO(&t, "conn 5");
//	CTP_END(&t);                                        nothing else came
//
// An actor is a coroutine, a thread, a connection: whatever has a stream of events of its own. Each watched
// event pauses the thread that signals it, and with it that thread's coroutine, until CTP_GO. A test's own
// thread therefore signals no watched event.
//
// The first failure is one text: what is wrong, where in the test, and for each actor its latest event and
// the source lines that signalled it (addr2line finds them). It goes to `fail`; without one, to stderr, and
// the program aborts. By then all actors go on, and no event pauses any more. Kinds of failure:
//
//	missing		no event came in the stream within timeout_ms
//	unexpected	another event came, or other fields; or at CTP_END, an event that nobody expected
//	out of order	the event came before its turn: earlier in the stream, or it is pending in another
//	deadlock	the stream's thread is paused at another event, which it cannot leave until CTP_GO
//	race		two threads signal in one stream at once: their order is left to chance
//	timeout		an actor was paused, and the test did nothing for twice timeout_ms
//	setup		no ctp (ctp-run runs the test), no such event, CTP_GO without CTP_EXPECT
//
// There is nothing to link. All calls are made by one thread; one ctp_test is used in one source file.
#ifndef CTP_TRACETEST_H
#define CTP_TRACETEST_H

#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdlib.h>
#include <ctp/tracetest_text.h>

#define CTP_TEST_STREAMS 64 // most streams of a test
#define CTP_TEST_EVENTS 32  // most events that CTP_STREAM names
#define CTP_TEST_PAST 32    // events that are remembered after CTP_GO
#define CTP_TEST_FRAMES_ 24
#define CTP_TEST_FIELDS_ 400 // bytes of the fields' text

enum ctp_test_state_ { CTP_TEST_RUNS_, CTP_TEST_PAUSED_, CTP_TEST_EXPECTED_ };

// A stream, and its latest event.
struct ctp_test_row_ {
	char name[64], event[2 * CTP_PROBE_NAME_BYTES], fields[CTP_TEST_FIELDS_];
	unsigned short ends[CTP_EVENT_FIELDS]; // of each field, in `fields`
	unsigned count;
	enum ctp_test_state_ state;
	unsigned long ticket; // of the pause
	long thread;
	int wanders; // signalled by more than one thread
	const char *file;
	int line; // of the test: what expected the event
	void *frames[CTP_TEST_FRAMES_];
	int depth;
};

struct ctp_test_watch_ {
	struct ctp_test *test;
	const char *stream; // with {field} in it
};

struct ctp_test_past_ {
	char stream[64], event[2 * CTP_PROBE_NAME_BYTES];
	const char *file;
	int line;
};

typedef struct ctp_test {
	int timeout_ms;   // how long CTP_EXPECT waits; ctp_test_begin sets 10000
	int streams_move; // coroutines go from thread to thread: no deadlock is inferred
	void (*fail)(const char *text, void *data); // may longjmp (cmocka's fail_msg) or return
	void *data;                                 // for `fail`
	// The rest is private.
	pthread_mutex_t lock;
	pthread_cond_t changed;
	ctp_probe_group group;
	long thread;
	int failed, reported, over;
	unsigned long tickets, steps;
	unsigned rows, watches, pasts;
	struct ctp_test_row_ row[CTP_TEST_STREAMS];
	struct ctp_test_watch_ watch[CTP_TEST_EVENTS];
	struct ctp_test_past_ past[CTP_TEST_PAST]; // a ring
	struct ctp_test_text_ text;
} ctp_test;

CTP_TEST_FN_ void ctp_test_describe_(struct ctp_test_row_ *r, const ctp_signal *s)
{
	const char *provider = (const char *)(s->event + 1), *name = provider + strlen(provider) + 1;
	size_t used = 0;
	unsigned i;
	int n;
	snprintf(r->event, sizeof(r->event), "%s:%s", provider, name);
	r->fields[0] = 0;
	for (i = 0; i < s->event->fields; i++) {
		n = snprintf(r->fields + used, sizeof(r->fields) - used, "%s%s=", i ? ", " : "",
			     ctp_test_field_(s->event, i));
		used += (size_t)n < sizeof(r->fields) - used ? (size_t)n : sizeof(r->fields) - used - 1;
		used += ctp_test_value_(s, i, r->fields + used, sizeof(r->fields) - used);
		r->ends[i] = (unsigned short)used;
	}
	r->count = s->event->fields;
}

// Is each of the wanted "name=value, name=value" one of the event's fields?
CTP_TEST_FN_ int ctp_test_matches_(const struct ctp_test_row_ *r, const char *wanted)
{
	unsigned i;
	size_t from, n;
	while (*wanted) {
		for (i = 0; i < r->count; i++) {
			from = i ? (size_t)r->ends[i - 1] + 2 : 0;
			n = from < r->ends[i] ? r->ends[i] - from : 0;
			if (n && strncmp(wanted, r->fields + from, n) == 0 &&
			    (!wanted[n] || strncmp(wanted + n, ", ", 2) == 0))
				break;
		}
		if (i == r->count)
			return 0;
		wanted += n + (wanted[n] ? 2 : 0);
	}
	return 1;
}

// ------------------------------------------------------------------ failures

// The first is the one that counts: from then on the rows stay as they are.
#define CTP_TEST_FAULT_(t, kind, ...) \
	do { \
		if (!(t)->failed && !(t)->over) { \
			(t)->failed = 1; \
			ctp_test_say_(&t->text, "ctp test: " kind ": " __VA_ARGS__); \
			pthread_cond_broadcast(&(t)->changed); \
		} \
	} while (0)

CTP_TEST_FN_ void ctp_test_actors_(ctp_test *t)
{
	unsigned i;
	const struct ctp_test_row_ *r;
	ctp_test_say_(&t->text, "\n  actors:%s\n", t->rows ? "" : " none signalled anything");
	for (i = 0; i < t->rows; i++) {
		r = &t->row[i];
		ctp_test_say_(&t->text, "    \"%s\" %s %s%s%s, ", r->name,
			      r->state == CTP_TEST_RUNS_ ? "went on from" : "is paused at", r->event,
			      r->fields[0] ? " " : "", r->fields);
		if (r->file)
			ctp_test_say_(&t->text, "expected at %s:%d", r->file, r->line);
		else
			ctp_test_say_(&t->text, "not expected");
		ctp_test_say_(&t->text, "; signalled at\n");
		ctp_test_stack_(&t->text, r->frames, r->depth);
	}
}

// Without the lock. Ends the test where it failed, and says so once.
CTP_TEST_FN_ int ctp_test_settle_(ctp_test *t)
{
	int failed, first;
	pthread_mutex_lock(&t->lock);
	failed = t->failed;
	first = failed && !t->reported;
	t->reported |= failed;
	pthread_mutex_unlock(&t->lock);
	if (!first)
		return failed;
	ctp_probe_group_done(&t->group);
	ctp_test_actors_(t);
	if (t->fail) {
		t->fail(t->text.bytes, t->data);
		return 1;
	}
	fputs(t->text.bytes, stderr);
	abort();
}

CTP_TEST_FN_ int ctp_test_wait_(ctp_test *t, long ms, struct timespec *until)
{
	if (!until->tv_sec) {
		ctp_test_clock_(CTP_TEST_MONOTONIC_, until);
		until->tv_sec += 1 + ms / 1000; // 0 means that there is none yet
		until->tv_nsec += ms % 1000 * 1000000;
		until->tv_sec += until->tv_nsec / 1000000000 - 1;
		until->tv_nsec %= 1000000000;
	}
	return pthread_cond_timedwait(&t->changed, &t->lock, until);
}

// ------------------------------------------------------------------ in the actor

// The row in which this event pauses; NULL if it does not.
CTP_TEST_FN_ struct ctp_test_row_ *ctp_test_arrive_(ctp_test *t, const char *stream, const ctp_signal *s)
{
	long thread = ctp_test_syscall_(SYS_gettid);
	struct ctp_test_row_ *r;
	unsigned i;
	int second = 0;
	for (i = 0; i < t->rows && strcmp(t->row[i].name, stream) != 0; i++)
		;
	second = i < t->rows && t->row[i].state != CTP_TEST_RUNS_;
	if (second)
		i = t->rows; // a row of its own, for the failure's text
	if (i == CTP_TEST_STREAMS) {
		CTP_TEST_FAULT_(t, "setup", "more than %d streams: \"%s\"", CTP_TEST_STREAMS, stream);
		return NULL;
	}
	r = &t->row[i];
	if (i == t->rows) {
		memset(r, 0, sizeof(*r));
		snprintf(r->name, sizeof(r->name), "%s", stream);
		r->thread = thread;
		t->rows++;
	}
	r->wanders |= r->thread != thread;
	r->thread = thread;
	r->state = CTP_TEST_PAUSED_;
	r->ticket = ++t->tickets;
	r->file = NULL;
	r->depth = backtrace(r->frames, CTP_TEST_FRAMES_);
	ctp_test_describe_(r, s);
	if (second)
		CTP_TEST_FAULT_(t, "race", "two threads signal in stream \"%s\" at once: the second is %s %s",
				stream, r->event, r->fields);
	else if (thread == t->thread)
		CTP_TEST_FAULT_(
			t, "deadlock",
			"the test's own thread signals %s in stream \"%s\", and would wait for itself",
			r->event, stream);
	return r;
}

CTP_TEST_FN_ void ctp_test_pause_(const ctp_signal *s, void *data)
{
	const struct ctp_test_watch_ *w = (const struct ctp_test_watch_ *)data;
	ctp_test *t = w->test;
	struct ctp_test_row_ *r = NULL;
	struct timespec until = {0, 0};
	unsigned long ticket = 0, step;
	char stream[64];
	ctp_test_stream_(s, w->stream, stream, sizeof(stream));
	pthread_mutex_lock(&t->lock);
	if (!t->failed && !t->over)
		r = ctp_test_arrive_(t, stream, s);
	pthread_cond_broadcast(&t->changed);
	ticket = r ? r->ticket : 0;
	step = t->steps;
	while (r && !t->failed && !t->over && r->ticket == ticket && r->state != CTP_TEST_RUNS_) {
		if (ctp_test_wait_(t, 2L * t->timeout_ms, &until) != ETIMEDOUT)
			continue;
		if (t->steps == step)
			CTP_TEST_FAULT_(t, "timeout",
					"the test did nothing for %d ms while \"%s\" was paused at %s",
					2 * t->timeout_ms, stream, r->event);
		step = t->steps;
		until.tv_sec = 0;
	}
	pthread_mutex_unlock(&t->lock);
}

// ------------------------------------------------------------------ in the test

CTP_TEST_FN_ void ctp_test_begin(ctp_test *t)
{
	pthread_condattr_t how;
	void *first[1];
	memset(t, 0, sizeof(*t));
	t->timeout_ms = 10000;
	t->thread = ctp_test_syscall_(SYS_gettid);
	backtrace(first, 1); // loads what it needs here, not on a coroutine's stack
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&how);
	ctp_test_setclock_(&how, CTP_TEST_MONOTONIC_);
	pthread_cond_init(&t->changed, &how);
	pthread_condattr_destroy(&how);
}

CTP_TEST_FN_ int ctp_test_stream_at_(const char *file, int line, ctp_test *t, const char *stream,
				     const char *events)
{
	char provider[2 * CTP_PROBE_NAME_BYTES], *name;
	struct ctp_test_watch_ *w;
	size_t n;
	int why;
	for (events += strspn(events, " "); *events; events += n, events += strspn(events, " ")) {
		n = strcspn(events, " ");
		snprintf(provider, sizeof(provider), "%.*s", (int)n, events);
		name = strchr(provider, ':');
		if (name)
			*name++ = 0;
		w = &t->watch[t->watches];
		pthread_mutex_lock(&t->lock);
		if (!name || t->watches == CTP_TEST_EVENTS) {
			CTP_TEST_FAULT_(t, "setup",
					"%s:%d: \"%.*s\" is not PROVIDER:NAME, or is one of more than %d",
					file, line, (int)n, events, CTP_TEST_EVENTS);
		} else {
			w->test = t;
			w->stream = stream;
			t->watches++;
		}
		why = t->failed;
		pthread_mutex_unlock(&t->lock);
		// Without the lock: the probe may be called at once.
		if (!why && !ctp_probe_attach(&t->group, provider, name, ctp_test_pause_, w)) {
			why = errno;
			pthread_mutex_lock(&t->lock);
			CTP_TEST_FAULT_(t, "setup", "%s:%d: %.*s: %s", file, line, (int)n, events,
					why == ENOSYS ?
						"ctp does not watch this program: run it with ctp-run" :
					why == ENOENT ? "no event of that name is defined" :
							strerror(why));
			pthread_mutex_unlock(&t->lock);
		}
		if (ctp_test_settle_(t))
			return 1;
	}
	return 0;
}

CTP_TEST_FN_ struct ctp_test_row_ *ctp_test_find_(ctp_test *t, const char *stream)
{
	unsigned i;
	for (i = 0; i < t->rows; i++)
		if (strcmp(t->row[i].name, stream) == 0)
			return &t->row[i];
	return NULL;
}

// Where the stream's own thread is paused, so that its next event cannot come; NULL: nowhere.
CTP_TEST_FN_ const struct ctp_test_row_ *ctp_test_stuck_(const ctp_test *t, const struct ctp_test_row_ *r)
{
	unsigned i;
	if (!r || r->state == CTP_TEST_EXPECTED_)
		return r;
	for (i = 0; i < t->rows && !t->streams_move && !r->wanders; i++)
		if (t->row[i].thread == r->thread && t->row[i].state != CTP_TEST_RUNS_)
			return &t->row[i];
	return NULL;
}

// Another event than the expected one came. Has the expected one come at another time or place?
CTP_TEST_FN_ void ctp_test_differs_(ctp_test *t, const char *file, int line, const struct ctp_test_row_ *r,
				    const char *event, const char *fields)
{
	unsigned i;
	const struct ctp_test_past_ *p;
	const char *blank = fields[0] ? " " : "";
	if (strcmp(r->event, event) == 0) {
		CTP_TEST_FAULT_(t, "unexpected", "%s:%d: in stream \"%s\" came %s %s, not %s", file, line,
				r->name, event, r->fields, fields);
		return;
	}
	for (i = 0; i < t->rows; i++)
		if (t->row[i].state != CTP_TEST_RUNS_ && strcmp(t->row[i].event, event) == 0)
			CTP_TEST_FAULT_(
				t, "out of order",
				"%s:%d: in stream \"%s\" came %s, not %s%s%s, which is pending in stream \"%s\"",
				file, line, r->name, r->event, event, blank, fields, t->row[i].name);
	for (i = t->pasts > CTP_TEST_PAST ? t->pasts - CTP_TEST_PAST : 0; i < t->pasts; i++) {
		p = &t->past[i % CTP_TEST_PAST];
		if (strcmp(p->stream, r->name) == 0 && strcmp(p->event, event) == 0)
			CTP_TEST_FAULT_(
				t, "out of order",
				"%s:%d: in stream \"%s\" came %s, not %s%s%s, which came earlier (expected at %s:%d)",
				file, line, r->name, r->event, event, blank, fields, p->file, p->line);
	}
	CTP_TEST_FAULT_(t, "unexpected", "%s:%d: in stream \"%s\" came %s %s, not %s%s%s", file, line,
			r->name, r->event, r->fields, event, blank, fields);
}

CTP_TEST_FN_ int ctp_test_expect_(const char *file, int line, ctp_test *t, const char *stream,
				  const char *event, const char *fields)
{
	struct timespec until = {0, 0};
	struct ctp_test_row_ *r;
	const struct ctp_test_row_ *at;
	const char *blank = fields[0] ? " " : "";
	int late = 0;
	pthread_mutex_lock(&t->lock);
	t->steps++;
	for (;;) {
		r = ctp_test_find_(t, stream);
		if (t->failed || t->over || (r && r->state == CTP_TEST_PAUSED_))
			break;
		at = ctp_test_stuck_(t, r);
		if (at)
			CTP_TEST_FAULT_(
				t, "deadlock",
				"%s:%d: %s%s%s cannot come in stream \"%s\": its thread is paused at %s of stream \"%s\"",
				file, line, event, blank, fields, stream, at->event, at->name);
		else if (late)
			CTP_TEST_FAULT_(t, "missing",
					"%s:%d: %s%s%s did not come in stream \"%s\" within %d ms", file,
					line, event, blank, fields, stream, t->timeout_ms);
		else
			late = ctp_test_wait_(t, t->timeout_ms, &until) == ETIMEDOUT;
	}
	if (!t->failed && !t->over && (strcmp(r->event, event) != 0 || !ctp_test_matches_(r, fields)))
		ctp_test_differs_(t, file, line, r, event, fields);
	if (!t->failed && !t->over) {
		r->state = CTP_TEST_EXPECTED_;
		r->file = file;
		r->line = line;
	}
	pthread_mutex_unlock(&t->lock);
	return ctp_test_settle_(t);
}

CTP_TEST_FN_ __attribute__((format(printf, 6, 7))) int ctp_test_expect_fields_(const char *file, int line,
									       ctp_test *t,
									       const char *stream,
									       const char *event,
									       const char *format, ...)
{
	char fields[CTP_TEST_FIELDS_];
	va_list args;
	va_start(args, format);
	vsnprintf(fields, sizeof(fields), format, args);
	va_end(args);
	return ctp_test_expect_(file, line, t, stream, event, fields);
}

CTP_TEST_FN_ int ctp_test_go_(const char *file, int line, ctp_test *t, const char *stream)
{
	struct ctp_test_row_ *r;
	struct ctp_test_past_ *p;
	pthread_mutex_lock(&t->lock);
	t->steps++;
	r = ctp_test_find_(t, stream);
	if (!r || r->state != CTP_TEST_EXPECTED_)
		CTP_TEST_FAULT_(t, "setup",
				"%s:%d: CTP_GO: stream \"%s\" is not paused at an event that was expected",
				file, line, stream);
	if (!t->failed && !t->over) {
		p = &t->past[t->pasts++ % CTP_TEST_PAST];
		memcpy(p->stream, r->name, sizeof(p->stream));
		memcpy(p->event, r->event, sizeof(p->event));
		p->file = r->file;
		p->line = r->line;
		r->state = CTP_TEST_RUNS_;
		pthread_cond_broadcast(&t->changed);
	}
	pthread_mutex_unlock(&t->lock);
	return ctp_test_settle_(t);
}

CTP_TEST_FN_ int ctp_test_end_(const char *file, int line, ctp_test *t)
{
	unsigned i;
	pthread_mutex_lock(&t->lock);
	for (i = 0; i < t->rows; i++)
		if (t->row[i].state == CTP_TEST_PAUSED_)
			CTP_TEST_FAULT_(t, "unexpected",
					"%s:%d: at the end, %s %s is pending in stream \"%s\"", file, line,
					t->row[i].event, t->row[i].fields, t->row[i].name);
	t->over = 1;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	ctp_probe_group_done(&t->group);
	return ctp_test_settle_(t);
}

// (test, "stream", "provider:event provider:event"): these events make up that stream, before the threads
// that signal them start or at any time. "{field}" in the stream's name is the value of the event's field.
#define CTP_STREAM(test, stream, events) ctp_test_stream_at_(__FILE__, __LINE__, test, stream, events)

// (test, "stream", "provider:event"): waits for the stream's next event, which must be that one.
// (test, "stream", "provider:event", "field=%d, field=%s", ...): and must have these fields, among others.
#define CTP_EXPECT(test, stream, ...) \
	CTP_TEST_PICK_(__VA_ARGS__, F, F, F, F, F, F, F, F, F, F, F, F, F, P, 0) \
	(__FILE__, __LINE__, test, stream, __VA_ARGS__)
#define CTP_TEST_PICK_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, which, ...) \
	CTP_EVENT_CAT_(CTP_TEST_EXPECT_, which)
#define CTP_TEST_EXPECT_F ctp_test_expect_fields_
#define CTP_TEST_EXPECT_P(file, line, test, stream, event) \
	ctp_test_expect_(file, line, test, stream, event, "")

// Lets the stream's actor, which is paused at the event that was expected, go on.
#define CTP_GO(test, stream) ctp_test_go_(__FILE__, __LINE__, test, stream)

// Fails if an event is pending that was not expected; lets all actors go on. All four return 0, or 1 once the
// test has failed.
#define CTP_END(test) ctp_test_end_(__FILE__, __LINE__, test)

#endif
