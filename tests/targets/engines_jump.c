// SPDX-License-Identifier: MIT
//
// engines_jump.c - the longjmp family, onto another stack: a switch each. Built
// with _FORTIFY_SOURCE as well: __longjmp_chk goes up the stack only, so there
// the case "up" alone makes sense.
#include <stdlib.h>
#include <string.h>

#include "engines_worker.h"
#include "must.h"

static NOINLINE void jump_between(int kind, sigjmp_buf from, sigjmp_buf to)
{
	if (SAVE(kind, from) == 0)
		jump_away(kind, to);
}

static void three_yields(struct worker *w)
{
	for (int i = 0; i < 3; i++)
		worker_yield(w);
}

static void qemu(void)
{
	struct worker *busy[50];
	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < 50; i++)
			busy[i] = worker_take(three_yields);
		for (int k = 0; k <= 3; k++)
			for (int i = 0; i < 50; i++)
				worker_enter(busy[i], &main_worker);
		for (int i = 0; i < 50; i++) {
			check(busy[i]->done);
			worker_give(busy[i]);
		}
	}
	for (int i = 0; i < 20; i++) {
		struct worker *w = worker_take(three_yields);
		worker_free(w);
	}
	ended(0, 20);
}

static int depth;
static void nest(struct worker *w)
{
	if (depth-- <= 0)
		return;
	struct worker *inner = worker_take(nest);
	worker_enter(inner, w);
	worker_give(inner);
}

static void nested(void)
{
	for (int i = 0; i < 10; i++) {
		depth = 15;
		struct worker *w = worker_take(nest);
		worker_enter(w, &main_worker);
		worker_give(w);
	}
	ended(0, 0);
}

static struct {
	pthread_mutex_t lock;
	struct worker *all[8];
	int left;
} mn = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void many_yields(struct worker *w)
{
	for (int i = 0; i < 300; i++)
		worker_yield(w);
}

static struct worker *mn_take(void)
{
	struct worker *w = NULL;
	pthread_mutex_lock(&mn.lock);
	for (int i = 0; i < 8 && !w; i++) {
		w = mn.all[i];
		mn.all[i] = NULL;
	}
	pthread_mutex_unlock(&mn.lock);
	return w;
}

static void mn_put(struct worker *w)
{
	pthread_mutex_lock(&mn.lock);
	for (int i = 0; i < 8 && w; i++)
		if (!mn.all[i]) {
			mn.all[i] = w;
			w = NULL;
		}
	pthread_mutex_unlock(&mn.lock);
}

static void *mn_thread(void *arg)
{
	(void)arg;
	while (__atomic_load_n(&mn.left, __ATOMIC_SEQ_CST) > 0) {
		struct worker *w = mn_take();
		if (!w)
			continue;
		worker_enter(w, &main_worker);
		if (w->done)
			__atomic_fetch_sub(&mn.left, 1, __ATOMIC_SEQ_CST);
		else
			mn_put(w);
	}
	return NULL;
}

static void migrate(void)
{
	pthread_t t[3];
	mn.left = 8;
	for (int i = 0; i < 8; i++)
		mn.all[i] = worker_take(many_yields);
	for (int i = 0; i < 3; i++)
		t[i] = thread(mn_thread, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	ended(0, 0);
}

// ---- each pair of the family, first entry by setcontext (LWP, OpenSSL)

static sigjmp_buf home_env, fibre_env;
static ucontext_t fibre_uc, uc_home;
static int kind_now;

static void fibre(void)
{
	for (;;)
		jump_between(kind_now, fibre_env, home_env);
}

static NOINLINE void fibre_first(void)
{
	if (SAVE(kind_now, home_env) == 0)
		set(&fibre_uc);
}

static void kinds(void)
{
	for (kind_now = 0; kind_now < KINDS; kind_now++) {
		make(&fibre_uc, must_map(STACK), STACK, fibre, NULL);
		fibre_first();
		for (int i = 0; i < 100; i++)
			jump_between(kind_now, home_env, fibre_env);
	}
	ended(0, 0);
}

static void signals(void)
{
	ticks(true);
	kind_now = 2;
	make(&fibre_uc, must_map(STACK), STACK, fibre, NULL);
	fibre_first();
	for (int i = 0; i < 200000; i++)
		jump_between(2, home_env, fibre_env);
	ticks(false);
}

// ---- the loop saves itself once; each leaves for it, and for good at the end

static struct fibre {
	jmp_buf env;
	ucontext_t uc;
	int left;
	bool begun;
} fibres[5], *current;
static jmp_buf loop_env;

static NOINLINE void pause_fibre(struct fibre *f)
{
	if (_setjmp(f->env) == 0) {
		switched();
		_longjmp(loop_env, 1);
	}
}

static void fibre_of_loop(void)
{
	struct fibre *f = current;
	while (f->left-- > 0)
		pause_fibre(f);
	f->left = -100;
	switched();
	_longjmp(loop_env, 1);
}

static struct fibre *next_fibre(void)
{
	static int turn;
	for (int i = 0; i < 5; i++)
		if (fibres[turn++ % 5].left > -100)
			return &fibres[(turn - 1) % 5];
	return NULL;
}

static NOINLINE void loop(void)
{
	_setjmp(loop_env);
	current = next_fibre();
	if (!current)
		return;
	if (!current->begun) {
		current->begun = true;
		set(&current->uc);
	}
	switched();
	_longjmp(current->env, 1);
}

static void make_fibres(void)
{
	for (int i = 0; i < 5; i++) {
		fibres[i].left = 30;
		make(&fibres[i].uc, must_map(STACK), STACK, fibre_of_loop, NULL);
	}
}

static void saved_once(void)
{
	make_fibres();
	loop();
	ended(5, 0);
}

static ucontext_t loop_uc;

static void loop_body(void)
{
	loop();
	switched(); // through uc_link
}

static void saved_once_scheduler(void)
{
	make_fibres();
	make(&loop_uc, must_map(STACK), STACK, loop_body, &uc_home);
	swap(&uc_home, &loop_uc);
	ended(6, 0);
}

// ---- up: entered by swapcontext, left by longjmp to the stack above

static void up_body(void)
{
	for (;;) {
		volatile int back = 0;
		must(getcontext(&fibre_uc));
		if (back)
			continue;
		back = 1;
		switched();
		jump(kind_now, home_env, 7);
	}
}

static NOINLINE void up_once(void)
{
	int value = SAVE(kind_now, home_env);
	if (value == 0)
		swap(&uc_home, &fibre_uc);
	check(value == 0 || value == 7);
}

static void up(void)
{
	for (kind_now = 0; kind_now < KINDS; kind_now++) {
		make(&fibre_uc, must_map(STACK), STACK, up_body, NULL);
		for (volatile int i = 0; i < 100; i++)
			up_once();
	}
	ended(0, 0);
}

// ---- copied through one stack, each with its own jmp_buf; the buffer is
// copied away and back as well

static char *shared;
static struct visitor {
	jmp_buf env, kept;
	ucontext_t uc;
	char *words;
	size_t bytes;
	int done;
} visitors[20], *visitor;

static NOINLINE void copy_out(struct visitor *v)
{
	char *from = __builtin_frame_address(0);
	v->bytes = (size_t)(shared + STACK - from);
	v->words = realloc(v->words, v->bytes);
	memcpy(v->words, from, v->bytes);
}

static NOINLINE void visitor_pause(struct visitor *v)
{
	if (_setjmp(v->env) == 0) {
		copy_out(v);
		memcpy(v->kept, v->env, sizeof(v->kept));
		switched();
		_longjmp(home_env, 1);
	}
}

static void visit(void)
{
	struct visitor *volatile me = visitor;
	volatile int sum = 0;
	for (volatile int k = 0; k < 10; k++) {
		sum += 3;
		visitor_pause(me);
	}
	check(sum == 30);
	me->done = 1;
	switched();
	_longjmp(home_env, 1);
}

static NOINLINE void enter_visitor(struct visitor *v, bool first)
{
	visitor = v;
	if (_setjmp(home_env) != 0)
		return;
	if (first)
		set(&v->uc);
	memcpy(shared + STACK - v->bytes, v->words, v->bytes);
	memcpy(v->env, v->kept, sizeof(v->env));
	switched();
	_longjmp(v->env, 1);
}

static void one_stack(void)
{
	shared = must_map(STACK);
	for (int i = 0; i < 20; i++)
		make(&visitors[i].uc, shared, STACK, visit, NULL);
	for (int round = 0; round <= 10; round++)
		for (int i = 0; i < 20; i++)
			enter_visitor(&visitors[i], round == 0);
	for (int i = 0; i < 20; i++)
		check(visitors[i].done);
	ended(20, 0);
}

// ---- a buffer that is used from a copy at another address

static sigjmp_buf copy_of;

static void copied_fibre(void)
{
	for (;;)
		jump_between(0, fibre_env, home_env);
}

static NOINLINE void into_copy(void)
{
	memcpy(copy_of, fibre_env, sizeof(copy_of));
	memset(fibre_env, 0, sizeof(fibre_env));
	if (_setjmp(home_env) == 0)
		jump_away(0, copy_of);
}

static void copied(void)
{
	kind_now = 0;
	make(&fibre_uc, must_map(STACK), STACK, copied_fibre, NULL);
	fibre_first();
	for (int i = 0; i < 100; i++)
		into_copy();
	ended(0, 0);
}

// ---- OpenSSL's: the first entry by setcontext, jumps ever after, jobs pooled

struct async {
	ucontext_t uc;
	jmp_buf env;
	bool saved;
};

static NOINLINE void async_swap(struct async *from, struct async *to)
{
	from->saved = true;
	if (_setjmp(from->env) == 0) {
		if (!to->saved)
			set(&to->uc);
		switched();
		_longjmp(to->env, 1);
	}
}

static struct async dispatcher, jobs[10];
static int job_now, job_pauses;

static void job_body(void)
{
	int me = job_now;
	for (;;) {
		for (int i = 0; i < job_pauses; i++)
			async_swap(&jobs[me], &dispatcher);
		async_swap(&jobs[me], &dispatcher); // done; the pool wakes it for the next one
	}
}

static void openssl(void)
{
	for (int i = 0; i < 10; i++)
		make(&jobs[i].uc, must_map(STACK), STACK, job_body, NULL);
	for (job_pauses = 0; job_pauses < 8; job_pauses++)
		for (int k = 0; k <= job_pauses; k++)
			for (job_now = 0; job_now < 10; job_now++)
				async_swap(&dispatcher, &jobs[job_now]);
	ended(0, 0);
}

const struct engines_case cases[] = {
	{"qemu", qemu}, {"nested", nested}, {"migrate", migrate}, {"kinds", kinds}, {"signals", signals},
	{"saved_once", saved_once}, {"saved_once_scheduler", saved_once_scheduler}, {"up", up},
	{"one_stack", one_stack}, {"copied", copied}, {"openssl", openssl}, {NULL, NULL},
};
