// SPDX-License-Identifier: MIT
//
// Coroutines of t-bare (tests/targets), which nobody traces: how many of each state, their stacks, and
// what is said when they may not be looked at.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "find/contexts.h"
#include "find/leads.h"
#include "find/lost.h"
#include "find/registers.h"
#include "sanitized.h"

enum { N = 100 };

struct bare {
	pid_t pid;
	unsigned held, lost, created;
};

static void start(struct bare *b, const char *engine, const char *word)
{
	int ends[2];
	char line[64] = "", number[16];
	snprintf(number, sizeof(number), "%d", N);
	assert_int_equal(pipe(ends), 0);
	b->pid = fork();
	if (!b->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); // a test that fails leaves nothing behind
		setenv("CO_ENGINE", engine, 1);
		dup2(ends[1], 1);
		execl(BARE_TARGET, BARE_TARGET, number, word, NULL);
		_exit(127);
	}
	close(ends[1]);
	for (size_t n = 0; n + 1 < sizeof(line) && !strchr(line, '\n');) {
		ssize_t k = read(ends[0], line + n, sizeof(line) - 1 - n);
		assert_true(k > 0);
		n += (size_t)k;
	}
	close(ends[0]);
	assert_int_equal(sscanf(line, "ready %u %u %u", &b->held, &b->lost, &b->created), 3);
}

static void stop(const struct bare *b)
{
	kill(b->pid, SIGKILL);
	waitpid(b->pid, NULL, 0);
}

static size_t count(const struct contexts *c, enum context_state s)
{
	size_t n = 0;
	for (size_t i = 0; i < c->n; i++)
		n += c->v[i].state == s;
	return n;
}

static void find(const struct bare *b, struct image *im, struct contexts *c)
{
	int e = image_of_process(im, b->pid, clock_mono_ns() + 60000000000ULL);
	if (e == -EPERM)
		skip();
	assert_int_equal(e, 0);
	assert_int_equal(contexts_find(c, im), 0);
	assert_string_equal(c->partial, "");
}

// Each on a stack of its own, with a call chain of more than one frame.
static void need_apart(const struct contexts *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct context *x = &c->v[i];
		assert_true(x->lo < x->hi && x->regs[CTP_REG_SP] >= x->lo && x->regs[CTP_REG_SP] <= x->hi);
		for (size_t k = 0; k < i; k++)
			assert_true(c->v[k].hi <= x->lo || c->v[k].lo >= x->hi);
		if (x->state == CONTEXT_SUSPENDED)
			assert_true(x->npcs > 1);
	}
}

static void ucontexts_in_all_states(void **state)
{
	struct bare b;
	struct image im;
	struct contexts c;
	start(&b, "ucontext", NULL);
	find(&b, &im, &c);
	assert_int_equal(count(&c, CONTEXT_SUSPENDED), b.held + b.lost);
	assert_int_equal(count(&c, CONTEXT_CREATED), b.created);
	assert_int_equal(count(&c, CONTEXT_RUNNING), 0);
	need_apart(&c);
	contexts_deinit(&c);
	image_close(&im);
	stop(&b);
}

// That engine begins each coroutine when it makes it: what the program calls created is suspended.
static void jump_buffers(void **state)
{
	struct bare b;
	struct image im;
	struct contexts c;
	start(&b, "sjlj", NULL);
	find(&b, &im, &c);
	assert_int_equal(count(&c, CONTEXT_SUSPENDED), b.held + b.lost + b.created);
	contexts_deinit(&c);
	image_close(&im);
	stop(&b);
}

// Two that switch all the while are seen with a stack that they have, or not at all.
static void a_switching_thread_spoils_nothing(void **state)
{
	struct bare b;
	struct image im;
	struct contexts c;
	start(&b, "ucontext", "spin");
	for (int i = 0; i < 20; i++) {
		find(&b, &im, &c);
		assert_in_range(count(&c, CONTEXT_SUSPENDED), b.held + b.lost, b.held + b.lost + 2);
		assert_int_equal(count(&c, CONTEXT_CREATED), b.created);
		contexts_deinit(&c);
		image_close(&im);
	}
	stop(&b);
}

static size_t unreached(const struct contexts *c, const uint64_t *held, size_t n)
{
	struct lost l;
	size_t found = 0;
	assert_int_equal(lost_mark(&l, c, held, n), 0);
	assert_string_equal(l.undecided ? l.undecided : "", "");
	for (size_t i = 0; i < c->n; i++)
		found += !l.reached[i];
	lost_deinit(&l);
	return found;
}

// As many as the program has let go of; a word that the kernel holds leads to one of them.
static void what_nothing_leads_to(void **state)
{
	struct registers_hold hold = {0};
	struct lost l;
	struct bare b;
	struct image im;
	struct contexts c;
	uint64_t word = 0;
	start(&b, "ucontext", NULL);
	int e = image_of_process(&im, b.pid, clock_mono_ns() + 60000000000ULL);
	if (e == -EPERM)
		skip();
	assert_int_equal(e, 0);
	assert_int_equal(registers_take(&im, REGISTERS_ALL, &hold), 0);
	assert_int_equal(contexts_find(&c, &im), 0);
	assert_int_equal(unreached(&c, NULL, 0), b.lost);
	assert_int_equal(lost_mark(&l, &c, NULL, 0), 0);
	for (size_t i = 0; i < c.n; i++)
		word = l.reached[i] ? word : c.v[i].shape.block;
	lost_deinit(&l);
	assert_int_equal(unreached(&c, &word, 1), b.lost - 1);
	registers_release(&hold);
	contexts_deinit(&c);
	image_close(&im);
	stop(&b);
}

// The data of a registration leads to whose block it is; a number or a null pointer to nobody.
static void where_registrations_lead(void **state)
{
	struct bare b;
	struct image im;
	struct contexts c;
	start(&b, "ucontext", NULL);
	find(&b, &im, &c);
	assert_true(c.n > 2);
	const uint64_t data[] = {c.v[1].shape.block, 0, 7, c.v[c.n - 1].shape.block};
	uint32_t to[4] = {0};
	assert_int_equal(leads_find(&c, data, 4, to), 0);
	assert_int_equal(to[0], 1);
	assert_int_equal(to[1], LEADS_NOWHERE);
	assert_int_equal(to[2], LEADS_NOWHERE);
	assert_int_equal(to[3], c.n - 1);
	contexts_deinit(&c);
	image_close(&im);
	stop(&b);
}

static void no_process_no_core(void **state)
{
	struct image im;
	assert_int_equal(image_of_process(&im, 0x3ffffff, UINT64_MAX), -ESRCH);
	assert_int_equal(image_of_core(&im, "/dev/null", UINT64_MAX), -EPROTO);
	assert_non_null(im.why);
	assert_int_equal(image_of_core(&im, BARE_TARGET, UINT64_MAX), -EPROTO);
	assert_int_equal(image_of_core(&im, "/no/such/core", UINT64_MAX), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ucontexts_in_all_states),
		cmocka_unit_test(jump_buffers),
		cmocka_unit_test(a_switching_thread_spoils_nothing),
		cmocka_unit_test(what_nothing_leads_to),
		cmocka_unit_test(where_registrations_lead),
		cmocka_unit_test(no_process_no_core),
	};
	if (not_under(SANITIZED, "the target has the sanitizer's code, frames and memory, too"))
		return SKIPPED_PROGRAM;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
