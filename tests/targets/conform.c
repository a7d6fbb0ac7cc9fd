// SPDX-License-Identifier: MIT
//
// conform.c - see conform.h. `t-conform` runs all that goes on and prints "ok
// NAME" a line, `t-conform NAME` one, "ends" names those that end the program.
#include "conform.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "must.h"

static const char *now = "";

void check_at(bool holds, const char *what, const char *file, int line)
{
	if (holds)
		return;
	fprintf(stderr, "%s:%d: %s: not so: %s\n", strrchr(file, '/') ? strrchr(file, '/') + 1 : file, line, now, what);
	_exit(98);
}

void *run_thread(void *(*fn)(void *), void *arg)
{
	pthread_t t;
	void *result;
	check(pthread_create(&t, NULL, fn, arg) == 0);
	check(pthread_join(t, &result) == 0);
	return result;
}

void context(ucontext_t *uc, void (*fn)(void), ucontext_t *link)
{
	must(getcontext(uc));
	uc->uc_stack.ss_sp = must_map(STACK);
	uc->uc_stack.ss_size = STACK;
	uc->uc_link = link;
	makecontext(uc, fn, 0);
}

// Before any constructor, those of preloaded libraries included.
static ucontext_t early_home, early_one;
static int early;

static void early_body(void)
{
	jmp_buf env;
	volatile int n = 0;
	if (setjmp(env) < 5)
		longjmp(env, ++n);
	early += n;
}

static void preinit(int argc, char **argv, char **env)
{
	static char stack[STACK];
	(void)argc, (void)argv, (void)env;
	for (int i = 0; i < 20; i++) {
		getcontext(&early_one);
		early_one.uc_stack.ss_sp = stack;
		early_one.uc_stack.ss_size = sizeof(stack);
		early_one.uc_link = &early_home;
		makecontext(&early_one, early_body, 0);
		swapcontext(&early_home, &early_one);
	}
}
__attribute__((section(".preinit_array"), used)) static void (*const at_preinit)(int, char **, char **) = preinit;

static void run(const struct conform *c)
{
	char line[96];
	now = c->name;
	c->run();
	snprintf(line, sizeof(line), "ok %s", now);
	say(line);
}

static int run_named(const struct conform *c, const char *name)
{
	for (; c->name; c++)
		if (!strcmp(c->name, name)) {
			run(c);
			return 0;
		}
	return 2;
}

int main(int argc, char **argv)
{
	const struct conform *all[] = {of_context, of_jump, of_unwind};
	if (argc > 1 && !strcmp(argv[1], "ends")) {
		for (const struct conform *c = of_end; c->name; c++)
			say(c->name);
		return 0;
	}
	if (argc > 1)
		return run_named(of_end, argv[1]) && run_named(of_context, argv[1]) && run_named(of_jump, argv[1]) &&
		       run_named(of_unwind, argv[1]) ? 2 : 0;
	check(early == 100);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		for (const struct conform *c = all[i]; c->name; c++)
			run(c);
	return 0;
}
