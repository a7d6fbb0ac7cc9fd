// SPDX-License-Identifier: MIT
//
// engines_mix.c - all ways to switch in one program, by chance: whoever leaves
// saves itself in one way or another, and whoever is entered is entered as it was
// saved. Coroutines are made and given up meanwhile, on stacks that overlap older
// ones, and jump on their own stacks. `t-engines-mix one|threads|who SEED`; who: on
// one thread, with a line "FROM TO" for each switch, 0 is the thread's own stack.
#undef _FORTIFY_SOURCE // its longjmp goes up the stack only
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "engines.h"
#include "fcontext.h"
#include "must.h"

enum { MATES = 40, STEPS = 20000, THREADS = 3 };
enum how { NOBODY, RUNS, BY_UC, BY_JUMP, BY_FCONTEXT };

struct mate {
	enum how how; // it waits to be entered, unless NOBODY or RUNS
	ucontext_t uc, spare, link; // spare: saved, never entered; link: where its function returns to
	sigjmp_buf env;
	fcontext_t at;
	char *stack; // NULL: a thread's own
	size_t bytes;
	bool heap, masked, begun, linked;
	int number;
};

// The lock is taken by who is about to leave and released by who was entered: on
// one thread, and nobody is found before it has left.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mate mates[MATES];
static int steps;
static uint64_t state;
static unsigned long given_up, left;
static bool tell;
static __thread struct mate *current, *native;

static unsigned chance(unsigned n)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(state >> 33) % n;
}

// Out of line: the address of a thread-local must not be kept across a switch.
static NOINLINE struct mate *self(void)
{
	return current;
}
static NOINLINE struct mate *own(void)
{
	return native;
}

static void live(void); // returns if the function shall, through its link

// First of all who goes on does this. `t`: if it was entered by a jump_fcontext,
// whose handle it now holds.
static NOINLINE void arrived(struct mate *me, const struct transfer *t)
{
	if (t) {
		struct mate *from = t->data;
		if (from->how == BY_FCONTEXT)
			from->at = t->from;
	}
	me->how = RUNS;
	me->begun = true;
	current = me;
	pthread_mutex_unlock(&lock);
}

static struct mate *entered; // under the lock

static void body(void)
{
	arrived(entered, NULL);
	live();
}

static void fbody(struct transfer t)
{
	arrived(entered, &t);
	live();
}

// ---- from one to the other

static struct transfer as_is(struct transfer t)
{
	return t;
}

static void leaves(const struct mate *me, const struct mate *to)
{
	switched();
	if (tell)
		printf("%d %d\n", me->number, to->number);
}

static struct transfer jump(struct mate *me, struct mate *to)
{
	leaves(me, to);
	return to->begun && chance(2) ? ontop_fcontext(to->at, me, as_is) : jump_fcontext(to->at, me);
}

static _Noreturn NOINLINE void enter(struct mate *me, struct mate *to)
{
	entered = to;
	if (to->how == BY_FCONTEXT)
		jump(me, to);
	leaves(me, to);
	bool swaps = to->how == BY_UC && chance(2);
	left += me->how == NOBODY && !swaps;
	if (to->how == BY_JUMP) {
		if (to->masked)
			siglongjmp(to->env, 1);
		_longjmp(to->env, 1);
	}
	if (!swaps)
		setcontext(&to->uc);
	swapcontext(&me->spare, &to->uc);
	abort();
}

static NOINLINE void leave_by_get(struct mate *me, struct mate *to)
{
	volatile bool back = false;
	must(getcontext(&me->uc));
	if (back)
		return;
	back = true;
	enter(me, to);
}

static NOINLINE void leave_by_jump(struct mate *me, struct mate *to)
{
	me->masked = chance(2);
	if ((me->masked ? sigsetjmp(me->env, 1) : _setjmp(me->env)) == 0)
		enter(me, to);
}

static NOINLINE void leave(struct mate *me, struct mate *to)
{
	unsigned way = chance(3);
	if (way == 0 && to->how == BY_FCONTEXT) {
		me->how = BY_FCONTEXT;
		entered = to;
		struct transfer t = jump(me, to);
		arrived(me, &t);
		return;
	}
	if (way == 0 && to->how == BY_UC) {
		me->how = BY_UC;
		entered = to;
		leaves(me, to);
		must(swapcontext(&me->uc, &to->uc));
	} else if (way == 1) {
		me->how = BY_UC;
		leave_by_get(me, to);
	} else {
		me->how = BY_JUMP;
		leave_by_jump(me, to);
	}
	arrived(me, NULL);
}

// ---- who there is; under the lock

static struct mate *anybody(void)
{
	unsigned first = chance(MATES);
	for (unsigned i = 0; i < MATES; i++) {
		struct mate *m = &mates[(first + i) % MATES];
		if (m->how > RUNS && m->stack)
			return m;
	}
	return NULL;
}

static void give_up(struct mate *m)
{
	if (m->heap)
		free(m->stack);
	else
		must(munmap(m->stack, m->bytes));
	m->how = NOBODY;
	given_up++;
}

static void make_one(void)
{
	static int number;
	struct mate *m = NULL;
	for (int i = 0; i < MATES && !m; i++)
		m = mates[i].how == NOBODY ? &mates[i] : NULL;
	if (!m)
		return;
	m->number = ++number;
	m->begun = false;
	m->heap = chance(2);
	m->bytes = (24 << 10) + 4096 * chance(6);
	m->stack = m->heap ? must_alloc(m->bytes) : must_map(m->bytes);
	m->linked = chance(2);
	if (!m->linked) {
		m->how = BY_FCONTEXT;
		made();
		m->at = make_fcontext(m->stack + m->bytes, m->bytes, fbody);
	} else {
		m->how = BY_UC;
		make(&m->uc, m->stack, m->bytes, body, &m->link);
	}
}

// ---- what each does all its life

static NOINLINE void throw_from(jmp_buf env, int depth)
{
	volatile char frame[32];
	frame[0] = 1;
	if (depth == 0)
		longjmp(env, 1);
	throw_from(env, depth - 1);
	frame[1] = frame[0];
}

static NOINLINE void error(int depth)
{
	jmp_buf env;
	if (setjmp(env) == 0)
		throw_from(env, depth);
}

static NOINLINE struct mate *next(void)
{
	struct mate *to = steps-- > 0 ? anybody() : NULL;
	unsigned what = chance(16);
	if (what == 0 && to) {
		give_up(to);
		to = anybody();
	} else if (what < 4) {
		make_one();
	}
	if (to && (self() == own() || (steps > 0 && chance(8))))
		return to;
	return self() == own() ? NULL : own();
}

// To where a copy of the target's context leads.
static NOINLINE void end_by_link(struct mate *me, struct mate *to)
{
	memcpy(&me->link, &to->uc, sizeof(me->link));
	entered = to;
	leaves(me, to);
	left++;
}

// False: there is no more to do, or the function shall return.
static NOINLINE bool step(void)
{
	struct mate *me = self(), *to;
	error((int)(me->bytes % 7));
	pthread_mutex_lock(&lock);
	to = next();
	if (!to) {
		pthread_mutex_unlock(&lock);
		return __atomic_load_n(&steps, __ATOMIC_RELAXED) > 0;
	}
	if (me != own() && to != own() && chance(64) == 0) { // for good
		me->how = NOBODY; // its stack is in use to the end: never given back
		if (!me->linked || to->how != BY_UC || chance(2))
			enter(me, to);
		end_by_link(me, to);
		return false;
	}
	leave(me, to);
	return true;
}

static void live(void)
{
	while (step())
		;
}

static void *run(void *mate)
{
	current = native = mate;
	native->how = RUNS;
	native->stack = NULL;
	while (step())
		;
	return NULL;
}

static void begin(void)
{
	state = (uint64_t)argument * 7919 + 1;
	steps = STEPS;
	for (int i = 0; i < 10; i++)
		make_one();
}

static void one(void)
{
	static struct mate here;
	begin();
	run(&here);
	ended(left, given_up);
}

static void who(void)
{
	tell = true;
	one();
	fflush(stdout);
}

static void threads(void)
{
	static struct mate here[THREADS];
	pthread_t t[THREADS];
	begin();
	for (int i = 0; i < THREADS; i++)
		t[i] = thread(run, &here[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	ended(left, given_up);
}

const struct engines_case cases[] = {{"one", one}, {"who", who}, {"threads", threads}, {NULL, NULL}};
