// SPDX-License-Identifier: MIT
//
// Probes of events: many threads signal while others attach and detach; after a detach no call runs or begins.
// An argument says how often to attach in that test (default: a few thousand times).
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "fake_guest.h"
#include "preload/guest/events.h"
#include "preload/guest/probes.h"

enum { SIGNALLERS = 64, ATTACHERS = 4 };
static long rounds = 1000; // of each who attaches

// Stands in for events.c: there are no descriptors here.
void events_change(void (*make)(void *arg), void *arg)
{
	make(arg);
}

static struct ctp_event_info pair = {.row = 0}, other_event = {.row = 1};

static void define(uint32_t row, const char *text, unsigned bytes, unsigned fields)
{
	struct ctp_event_row *r = &tracer.region.events[row];
	*r = (struct ctp_event_row){.fields = (uint8_t)fields, .text_bytes = (uint16_t)bytes};
	memcpy(r->text, text, bytes);
	for (unsigned i = 0; i < fields; i++) {
		r->kinds[i] = CTP_EVENT_SIGNED;
		r->sizes[i] = 4;
	}
	ctp_store32(&tracer.region.ext->events, row + 1);
	probes_defined(row);
}
#define DEFINE(row, text, fields) define(row, text, sizeof(text), fields)

static int setup(void **state)
{
	if (fake_guest_setup(state))
		return -1;
	DEFINE(0, "many\0pair\0f.c\0int\0a\0int\0b\0", 2);
	DEFINE(1, "many\0other\0f.c\0", 0);
	return 0;
}

static ctp_probe *wish(const char *name, ctp_probe_function *f, void *data, const ctp_probe_group *group,
		       uint32_t fields, unsigned kind, int *error)
{
	static const unsigned char sizes[] = {4, 4};
	unsigned char kinds[] = {(unsigned char)kind, CTP_EVENT_SIGNED};
	struct ctp_probe_wish w = {.bytes = sizeof(w), .fields = fields, .provider = "many", .name = name, .kinds = kinds,
				   .sizes = sizes, .call = f, .data = data, .group = group};
	return ctp_probe_begin(&w, error);
}

static ctp_probe *attach_to(const char *name, ctp_probe_function *f, void *data, const ctp_probe_group *group)
{
	int e;
	return wish(name, f, data, group, CTP_PROBE_ANY, 0, &e);
}

static void count(const ctp_signal *s, void *data)
{
	(void)s;
	ctp_add64(data, 1);
}

static void test_several_and_groups(void **state)
{
	(void)state;
	uint64_t a = 0, b = 0, c = 0;
	ctp_probe_group group, rest;
	ctp_probe *p = attach_to("pair", count, &a, &group);
	assert_non_null(p);
	assert_non_null(attach_to("pair", count, &b, &group));
	assert_non_null(attach_to("other", count, &c, &rest));
	assert_true(probes_want(0) && probes_want(1) && !probes_want(2));
	probes_call(&pair, NULL);
	probes_call(&other_event, NULL);
	probes_call(&other_event, NULL);
	assert_true(a == 1 && b == 1 && c == 2);
	assert_int_equal(ctp_probe_end(p), 0);
	assert_int_equal(ctp_probe_end(p), -ESRCH);
	probes_call(&pair, NULL);
	assert_true(a == 1 && b == 2);
	assert_int_equal(ctp_probe_end_group(&group), 0);
	assert_false(probes_want(0));
	probes_call(&pair, NULL);
	probes_call(&other_event, NULL);
	assert_true(a == 1 && b == 2 && c == 3);
	assert_int_equal(ctp_probe_end_group(&rest), 0);
	assert_int_equal(ctp_probe_end_group(&rest), 0);
}

static void test_refused(void **state)
{
	(void)state;
	int e = 0;
	uint64_t n = 0;
	assert_null(wish("missing", count, &n, NULL, CTP_PROBE_ANY, 0, &e));
	assert_int_equal(e, ENOENT);
	assert_null(wish("pair", count, &n, NULL, 2, CTP_EVENT_UNSIGNED, &e));
	assert_int_equal(e, EPROTOTYPE);
	assert_null(wish("pair", count, &n, NULL, 1, CTP_EVENT_SIGNED, &e));
	assert_int_equal(e, EPROTOTYPE);
	assert_null(wish("pair", NULL, &n, NULL, CTP_PROBE_ANY, 0, &e));
	assert_int_equal(e, EINVAL);
	assert_null(wish("0123456789012345678901234567890123456789012345678901234567890123", count, &n, NULL,
			 CTP_PROBE_ANY, 0, &e));
	assert_int_equal(e, EINVAL);
	ctp_probe *p = wish("pair", count, &n, NULL, 2, CTP_EVENT_SIGNED, &e);
	assert_non_null(p);
	probes_call(&pair, NULL);
	assert_int_equal(n, 1);
	assert_int_equal(ctp_probe_end(p), 0);
	ctp_probe_group all;
	for (int i = 0; i < CTP_PROBE_MOST; i++)
		assert_non_null(attach_to("pair", count, &n, &all));
	assert_null(wish("pair", count, &n, &all, CTP_PROBE_ANY, 0, &e));
	assert_int_equal(e, ENOSPC);
	assert_int_equal(ctp_probe_end_group(&all), 0);
	tracer.attached = 0;
	assert_null(wish("pair", count, &n, NULL, CTP_PROBE_ANY, 0, &e));
	assert_int_equal(e, ENOSYS);
	tracer.attached = 1;
}

// An event that is defined while a probe waits for its name.
static void test_defined_later(void **state)
{
	(void)state;
	uint64_t n = 0;
	struct ctp_event_info late = {.row = 2};
	ctp_probe *p = attach_to("pair", count, &n, NULL);
	DEFINE(2, "many\0pair\0g.c\0", 0);
	probes_call(&late, NULL);
	assert_int_equal(n, 1);
	assert_int_equal(ctp_probe_end(p), 0);
	assert_false(probes_want(2));
}

struct self_data {
	ctp_probe *p;
	long said;
	int calls, deeper;
};

static void ends_itself(const ctp_signal *s, void *data)
{
	struct self_data *d = data;
	d->calls++;
	if (d->deeper++ < 2)
		probes_call(s->event, s->words); // signals its own event
	d->said = ctp_probe_end(d->p);
	probes_call(s->event, s->words);
}

static void test_itself(void **state)
{
	(void)state;
	struct self_data d = {0};
	d.p = attach_to("pair", ends_itself, &d, NULL);
	probes_call(&pair, NULL);
	assert_int_equal(d.calls, 3);
	assert_int_equal(d.said, 0);
	assert_int_equal(ctp_probe_end(d.p), -ESRCH);
	assert_false(probes_want(0));
	ctp_probe *p = attach_to("pair", count, &(uint64_t){0}, NULL); // its slot is free again
	assert_ptr_not_equal(p, d.p);
	assert_int_equal(ctp_probe_end(p), 0);
}

static ctp_probe *switched;
static long deadlock;

// The probe's coroutine waits, and another one of the thread detaches.
static void switches(const ctp_signal *s, void *data)
{
	(void)s;
	fake_guest_switch(other);
	deadlock = ctp_probe_end(switched);
	fake_guest_switch(data);
}

static void test_switches(void **state)
{
	(void)state;
	switched = attach_to("pair", switches, co, NULL);
	probes_call(&pair, NULL);
	assert_int_equal(deadlock, -EDEADLK);
	assert_int_equal(ctp_probe_end(switched), -ESRCH); // it was detached, and its last call has ended
}

// ------------------------------------------------------------------ many threads

static uint64_t stop, signals;

struct life {
	int alive; // not atomic: ThreadSanitizer sees a call that goes on after the detach
	uint64_t calls;
};

static void while_alive(const ctp_signal *s, void *data)
{
	struct life *l = data;
	if (!l->alive || s->event->row != 0)
		abort();
	ctp_add64(&l->calls, 1);
}

static void *signaller(void *slot)
{
	fake_guest_thread((uint32_t)(uintptr_t)slot, NULL);
	struct ctp_state me = {.entity = CTP_NATIVE, .life = CTP_RUNNING};
	self.current = &me;
	while (!ctp_load64(&stop)) {
		probes_call(&pair, NULL);
		ctp_add64(&signals, 1);
		sched_yield();
	}
	return NULL;
}

static void *attacher(void *slot)
{
	fake_guest_thread((uint32_t)(uintptr_t)slot, NULL);
	struct ctp_state me = {.entity = CTP_NATIVE, .life = CTP_RUNNING};
	self.current = &me;
	for (long i = 0; i < rounds; i++) {
		struct life l = {.alive = 1};
		ctp_probe *p = attach_to("pair", while_alive, &l, NULL);
		if (!p)
			abort();
		while (i % 16 == 0 && !ctp_load64(&l.calls)) // some of them end among calls
			sched_yield();
		if (ctp_probe_end(p) != 0)
			abort();
		l.alive = 0;
	}
	return NULL;
}

static void test_many_threads(void **state)
{
	(void)state;
	pthread_t s[SIGNALLERS], a[ATTACHERS];
	stop = 0;
	for (uintptr_t i = 0; i < SIGNALLERS; i++)
		assert_int_equal(pthread_create(&s[i], NULL, signaller, (void *)i), 0);
	for (uintptr_t i = 0; i < ATTACHERS; i++)
		assert_int_equal(pthread_create(&a[i], NULL, attacher, (void *)(i + SIGNALLERS)), 0);
	for (int i = 0; i < ATTACHERS; i++)
		pthread_join(a[i], NULL);
	ctp_store64(&stop, 1);
	for (int i = 0; i < SIGNALLERS; i++)
		pthread_join(s[i], NULL);
	assert_false(probes_want(0));
	assert_true(signals > 0);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		rounds = atol(argv[1]) / ATTACHERS;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_several_and_groups, setup, fake_guest_teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, fake_guest_teardown),
		cmocka_unit_test_setup_teardown(test_defined_later, setup, fake_guest_teardown),
		cmocka_unit_test_setup_teardown(test_itself, setup, fake_guest_teardown),
		cmocka_unit_test_setup_teardown(test_switches, setup, fake_guest_teardown),
		cmocka_unit_test_setup_teardown(test_many_threads, setup, fake_guest_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
