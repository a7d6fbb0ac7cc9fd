// SPDX-License-Identifier: MIT
//
// The witness against real processes whose tables are kept by hand
// (tests/targets/witness_target.c): each case leaves one way, or none, by
// which a lost coroutine could still be reached, and the witness must see it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <jansson.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ctp/seq.h"
#include "engine/inspect/hold.h"
#include "engine/target/proc.h"
#include "engine/target/registrations.h"
#include "engine/witness/control_group.h"
#include "engine/witness/witness.h"
#include "search/mark/scan.h"

struct bench {
	struct ctp_region region;
	pid_t pid;
	FILE *out, *descriptors;
	struct witness *w;
	struct witness_clock clock;
	json_t *last; // line of the suspect `id`
	long id;      // 0: the first
};

static void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

// A child that dies with us, even if a check failed before it could be ended.
static pid_t fork_child(void)
{
	pid_t us = getpid(), pid = fork();
	if (!pid && (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != us))
		_exit(127);
	return pid;
}

static void bench_start(struct bench *b, const char *what, bool prove)
{
	struct ctp_header h = {0};
	*b = (struct bench){.clock = {.ns_per_tick = 1}};
	ctp_region_layout(&h, 64, 4096);
	int fd = memfd_create("ctp", 0);
	assert_int_equal(ftruncate(fd, (off_t)h.ext.region_bytes), 0);
	void *base = mmap(NULL, h.ext.region_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(base, MAP_FAILED);
	memcpy(base, &h, sizeof(h));
	assert_int_equal(ctp_region_open(&b->region, base, h.ext.region_bytes), 0);
	b->pid = fork_child();
	if (!b->pid) {
		char n[16];
		snprintf(n, sizeof(n), "%d", fd);
		execl(WITNESS_TARGET, "witness_target", what, n, (char *)NULL);
		_exit(127);
	}
	close(fd);
	while (!ctp_load64(&b->region.ext->attached_ns)) {
		assert_int_equal(waitpid(b->pid, NULL, WNOHANG), 0);
		nap();
	}
	b->out = tmpfile();
	b->descriptors = tmpfile();
	b->w = witness_new(&b->region, b->pid, b->out, b->descriptors, &b->clock, prove);
	assert_non_null(b->w);
}

static void bench_stop(struct bench *b)
{
	witness_free(b->w);
	kill(b->pid, SIGKILL);
	waitpid(b->pid, NULL, 0);
	fclose(b->out);
	fclose(b->descriptors);
	json_decref(b->last);
	munmap(b->region.base, b->region.bytes);
}

// The last line about coroutine `id` (0: the first found); NULL if there is none yet.
static json_t *line_of(struct bench *b, long id)
{
	json_t *found = NULL;
	rewind(b->out);
	for (json_t *o; (o = json_loadf(b->out, JSON_DISABLE_EOF_CHECK, NULL));) {
		if (!id || json_integer_value(json_object_get(o, "coroutine")) == id) {
			json_decref(found);
			found = o;
		} else {
			json_decref(o);
		}
	}
	fseek(b->out, 0, SEEK_END);
	return found;
}

static void bench_look(struct bench *b, long id)
{
	b->id = id;
	for (int i = 0; i < 15000 && !b->last; i++) {
		witness_poll(b->w, true);
		nap();
		b->last = line_of(b, id);
	}
	assert_non_null(b->last);
}

// 1, 0 or -1, as the line says about P<n>.
static int holds(const struct bench *b, const char *id)
{
	size_t i;
	json_t *e;
	json_array_foreach(json_object_get(b->last, "evidence"), i, e)
		if (!strcmp(json_string_value(json_object_get(e, "id")), id)) {
			json_t *h = json_object_get(e, "holds");
			return json_is_null(h) ? -1 : json_is_true(h);
		}
	return -2;
}

static bool says(const struct bench *b, const char *text)
{
	char *all = json_dumps(b->last, 0);
	bool found = strstr(all, text) != NULL;
	if (!found)
		fprintf(stderr, "no \"%s\" in %s\n", text, all);
	free(all);
	return found;
}

enum { IDS = 7, LOOKS = 15000, TRIES = 3 };
static const char *const ids[IDS] = {"P0", "P2", "P3", "P4", "P5", "P6a", "P6b"};
static const bool asks_for_rest[IDS] = {[4] = true, [6] = true};

// Is anything open that is to be decided? A thread may have been late to sleep, on a busy machine; the witness
// inspects it again then.
static bool undecided(const struct bench *b, const int *want)
{
	for (int i = 0; i < IDS; i++) {
		bool awake = asks_for_rest[i] && want[i] == 1 && holds(b, ids[i]) == 0;
		if ((want[i] >= 0 && holds(b, ids[i]) < 0) || awake)
			return true;
	}
	return false;
}

// A witness leaves alone what it has proven by P6b, though memory could not be searched: a thread that it stops to
// read registers, and that another preempts, may have run. One that knows nothing yet searches again.
static void ask_anew(struct bench *b)
{
	witness_free(b->w);
	b->w = witness_new(&b->region, b->pid, b->out, b->descriptors, &b->clock, false);
	assert_non_null(b->w);
}

// Until all is decided. Prints what is not as it should be.
static bool is_as(struct bench *b, const int *want)
{
	int n = 0;
	for (int i = 0; i < LOOKS && undecided(b, want); i++) {
		json_t *newer;
		if (witness_certain(b->w))
			ask_anew(b);
		witness_poll(b->w, true);
		nap();
		if ((newer = line_of(b, b->id))) {
			json_decref(b->last);
			b->last = newer;
		}
	}
	for (int i = 0; i < IDS; i++)
		n += want[i] != holds(b, ids[i]);
	if (n) {
		char *all = json_dumps(b->last, 0);
		fprintf(stderr, "%s\n", all);
		free(all);
	}
	return !n;
}

// An address that the kernel draws by lot resembles some number that the target has, one time in some thousands: it
// counts, for it may be half of a pointer.
static bool is_by_chance(const struct bench *b, const int *want)
{
	static const char *const forms[] = {"32 bits", "as two halves", "as its distance"};
	bool by = false;
	for (size_t i = 0; !by && i < sizeof(forms) / sizeof(*forms); i++)
		by = says(b, forms[i]);
	return by && want[5] == 1 && holds(b, "P6a") == 0;
}

// of: which coroutine, 0: the first. at_end: looks in place of the live witness. Where chance leads to the coroutine,
// another target is asked, which has other addresses.
static void run_case(const char *what, long of, void (*at_end)(struct bench *b), const int *want, const char *text)
{
	for (int tries = 1;; tries++) {
		struct bench b;
		bench_start(&b, what, false);
		if (at_end)
			at_end(&b);
		else
			bench_look(&b, of);
		bool is = is_as(&b, want), again = !is && tries < TRIES && is_by_chance(&b, want);
		assert_true(is || again);
		if (is && text)
			assert_true(says(&b, text));
		bench_stop(&b);
		if (is)
			return;
	}
}

#define CASE(name, text, ...)                                                                                  \
	static void name(void **state)                                                                         \
	{                                                                                                      \
		const int p[] = {__VA_ARGS__};                                                                 \
		run_case(#name, 0, NULL, p, text);                                                             \
	}

//   case      must say                        P0 P2 P3 P4 P5 6a 6b
CASE(plain,    "no pointer to coroutine",       1, 1, 1, 1, 1, 1, 1)
CASE(statics,  "all+0x38",                      1, 1, 1, 1, 1, 0, 1)
CASE(tagged,   "hidden",                        1, 1, 1, 1, 1, 0, 1)
CASE(regs,     "saved register",                1, 1, 1, 1, 1, 0, 1)
CASE(futex,    "a register of thread",          1, 1, 1, 1, 1, 0, 1)
CASE(pair,     "no pointer to coroutine",       1, 1, 1, 1, 1, 1, 1)
CASE(dups,      "still registered",              1, -1, 0, 1, 1, 0, 0)
CASE(event,    "no pointer to coroutine",       1, 1, 1, 1, 1, 1, 1)
CASE(eventdup, "still registered",              1, -1, 0, 1, 1, 0, 0)
CASE(listener, "that listens",                  1, 1, 1, 1, 1, 1, 0)
CASE(flight,   "never left",                    1, 1, 1, 1, 1, 1, 1)

CASE(unled,    "is healthy: the program keeps", 1, 1, 1, 1, 1, -1, 1)
CASE(unwaited, "leads to the only other suspended coroutine either", 1, 1, 1, 1, 1, -1, 1)

static void pair_second(void **state)
{
	run_case("pair", 102, NULL, (const int[]){1, 1, 1, 1, 1, 1, 1}, NULL);
}

// What leads to one of which too much may be its own leads to no neighbour.
static void mixed(void **state)
{
	for (long id = 101; id <= 102; id++)
		run_case("mixed", id, NULL, (const int[]){1, 1, 1, 1, 1, id == 101 ? 1 : -1, 1}, NULL);
}

static int p6a_of(struct bench *b, long id)
{
	json_decref(b->last);
	b->last = line_of(b, id);
	return b->last ? holds(b, "P6a") : -2;
}

static void go_on(struct bench *b, uint64_t id)
{
	for (int i = 0; i < 8; i++)
		if (b->region.states[i].id == id)
			b->region.states[i].changes += 2;
}

// Polls until P6a of `id` is so. False: never.
static bool becomes(struct bench *b, long id, int p6a)
{
	for (int i = 0; i < LOOKS && p6a_of(b, id) != p6a && p6a_of(b, id) != 0; i++) {
		witness_poll(b->w, true);
		nap();
	}
	return p6a_of(b, id) == p6a;
}

// To one that is parked nothing leads, but to nobody else either: it may be kept, as all are.
static void unchecked(void **state)
{
	(void)state;
	struct control_group g = { 0 };
	struct suspect parked = { .rule = RULE_PARKED }, closed = { .rule = RULE_LOST_WAKEUP };
	struct suspect *who[] = { &parked, &closed };
	struct inspection l = { .who = who, .n = 2 };
	parked.a[PROOF_P6A].holds = closed.a[PROOF_P6A].holds = HOLDS_TRUE;
	control_group_doubt(&g, &l);
	assert_true(parked.unchecked && !closed.unchecked);
	g.found = true;
	control_group_doubt(&g, &l);
	assert_false(parked.unchecked);
	assert_int_equal(parked.a[PROOF_P6A].holds, HOLDS_TRUE);
}

// Nothing leads to two. One is resumed all the same: of the other nothing is certain any more.
static void resumed(void **state)
{
	for (int tries = 1;; tries++) {
		struct bench b;
		bench_start(&b, "pair", false);
		bool unled = becomes(&b, 101, 1) && becomes(&b, 102, 1);
		if (unled) {
			assert_int_equal(witness_control(b.w), 0);
			go_on(&b, 102);
			assert_true(becomes(&b, 101, -1));
			assert_true(says(&b, "coroutine 102 either, which was resumed later: the program keeps"));
			assert_int_equal(witness_control(b.w), 102);
		}
		bench_stop(&b);
		if (unled)
			return;
		assert_true(tries < TRIES); // chance led to one of them
	}
}

// What is known of the process that forked this one holds from the start.
static void inherited(void **state)
{
	struct bench b;
	bench_start(&b, "plain", false);
	witness_inherit(b.w, 7);
	bench_look(&b, 101);
	assert_int_equal(holds(&b, "P6a"), -1);
	bench_stop(&b);
}

// A loop that ticks: no memory scan while it lives, and the end brings it.
static void ticking(void **state)
{
	struct bench b;
	bench_start(&b, "ticking", false);
	bench_look(&b, 0);
	assert_int_equal(holds(&b, "P3"), 1);
	assert_int_not_equal(holds(&b, "P6a"), 1);
	assert_int_not_equal(holds(&b, "P6b"), 1);
	bench_stop(&b);
}

// A coroutine that goes on is withdrawn.
static void withdrawn(void **state)
{
	struct bench b;
	bench_start(&b, "plain", false);
	witness_poll(b.w, true);
	b.region.states[0].changes++;
	for (int i = 0; i < 100; i++) {
		witness_poll(b.w, true);
		nap();
	}
	assert_null(line_of(&b, 0));
	bench_stop(&b);
}

static bool in_state(pid_t pid, char state)
{
	struct proc_task t;
	return proc_task_read(pid, pid, true, &t) && t.state == state;
}

static void until_in(pid_t pid, char state)
{
	while (!in_state(pid, state)) {
		assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
		nap();
	}
}

static void look_at_end(struct bench *b)
{
	until_in(b->pid, 'S');
	witness_final(b->w, true, UINT64_MAX);
	b->last = line_of(b, 0);
	assert_non_null(b->last);
	assert_true(says(b, "\"look\": \"final\""));
}

static void at_the_end(void **state)
{
	run_case("futex", 0, look_at_end, (const int[]){1, 1, 1, 1, 1, 0, 1}, NULL);
}

static void look_at_stopped(struct bench *b)
{
	until_in(b->pid, 'S');
	assert_false(proc_stopped(b->pid));
	kill(b->pid, SIGSTOP);
	until_in(b->pid, 'T');
	assert_true(proc_stopped(b->pid));
	witness_final(b->w, true, UINT64_MAX);
	b->last = line_of(b, 0);
	assert_non_null(b->last);
}

// A stop has taken the thread out of its wait: with nothing, so its buffer is still nobody's.
static void stopped(void **state)
{
	run_case("plain", 0, look_at_stopped, (const int[]){1, 1, 1, 1, -1, 1, 0}, "is stopped");
}

// What a call that goes on after a stop is called: by what it was.
static void restarted(void **state)
{
	static int word;
	for (int how = 0; how < 3; how++) {
		struct proc_task t;
		struct timespec hour = {.tv_sec = 3600};
		pid_t pid = fork_child();
		for (; !pid; _exit(1))
			how == 0 ? poll(NULL, 0, 3600000) :
			how == 1 ? clock_nanosleep(CLOCK_MONOTONIC, 0, &hour, NULL) :
				   (int)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &hour, NULL, 0);
		do {
			nap();
			assert_true(proc_task_read(pid, pid, true, &t));
		} while (t.state != 'S' || t.nr < 0);
		int64_t nr = t.nr;
		assert_false(t.restarted);
		kill(pid, SIGSTOP);
		until_in(pid, 'T');
		kill(pid, SIGCONT);
		until_in(pid, 'S');
		bool read = proc_task_read(pid, pid, true, &t);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		assert_true(read && t.restarted);
		assert_int_equal(t.nr, nr);
	}
}

// Only a signal that the program can see may bring a pointer.
static void pending(void **state)
{
	struct proc_task v[2] = {{.pending = 1ULL << (SIGCONT - 1)}, {.heard = 1ULL << (SIGUSR1 - 1)}};
	const struct proc_tasks t = {v, 2};
	assert_false(hold_signals(&t));
	v[1].heard |= v[0].pending;
	assert_true(hold_signals(&t));
}

static void gone(void **state)
{
	struct bench b;
	bench_start(&b, "plain", false);
	kill(b.pid, SIGKILL);
	waitpid(b.pid, NULL, 0);
	witness_final(b.w, true, UINT64_MAX);
	witness_ended(b.w);
	b.last = line_of(&b, 0);
	assert_non_null(b.last);
	assert_true(is_as(&b, (const int[]){-1, -1, -1, 1, -1, -1, -1}));
	bench_stop(&b);
}

// Of one that has given up its descriptors it is not known what was registered.
static void no_descriptors(void **state)
{
	struct registrations r = {0};
	siginfo_t si;
	pid_t pid = fork_child();
	if (!pid)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT), 0);
	int e = registrations_read(pid, 0, UINT64_MAX, &r);
	waitpid(pid, NULL, 0);
	assert_true(e || !r.complete);
	registrations_deinit(&r);
	assert_int_equal(registrations_read(getpid(), 0, UINT64_MAX, &r), 0);
	assert_true(r.complete);
	registrations_deinit(&r);
}

static void spans(void **state)
{
	struct span v[] = {{30, 40}, {10, 20}, {20, 25}, {50, 50}, {35, 60}};
	assert_int_equal(spans_tidy(v, 5), 2);
	assert_int_equal(v[0].lo, 10);
	assert_int_equal(v[0].hi, 25);
	assert_int_equal(v[1].hi, 60);
	assert_int_equal(scan_find(v, 2, 24), 0);
	assert_int_equal(scan_find(v, 2, 25), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans), cmocka_unit_test(plain), cmocka_unit_test(statics), cmocka_unit_test(tagged),
		cmocka_unit_test(regs), cmocka_unit_test(futex), cmocka_unit_test(pair), cmocka_unit_test(pair_second), cmocka_unit_test(mixed), cmocka_unit_test(unled), cmocka_unit_test(unwaited), cmocka_unit_test(unchecked), cmocka_unit_test(resumed), cmocka_unit_test(inherited),
		cmocka_unit_test(dups), cmocka_unit_test(event), cmocka_unit_test(eventdup), cmocka_unit_test(listener),
		cmocka_unit_test(flight), cmocka_unit_test(ticking), cmocka_unit_test(withdrawn),
		cmocka_unit_test(at_the_end), cmocka_unit_test(stopped), cmocka_unit_test(restarted),
		cmocka_unit_test(pending), cmocka_unit_test(gone), cmocka_unit_test(no_descriptors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
