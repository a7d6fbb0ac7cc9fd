// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
//
// Who has a printer's lock does not let go of it, but sends it on: the lock travels in
// a queue, with the job, to the coroutine that will finish it, and that one unlocks. In
// between nobody who runs holds it, and two wait for it.
#include "locks.h"

#define JOBS 3

struct job {
	struct job *next;
	struct fiber_mutex *lock; // locked on behalf of whoever takes the job
	int number;
};

static struct fiber_mutex printer;
static struct job *pending;
static struct waiting finisher_waits;
static bool finisher_idle;
static struct co *finisher_co;
static int ep, paper[2], printed;

static void hand_on(struct job *j)
{
	j->next = pending;
	pending = j;
	if (finisher_idle) {
		finisher_idle = false;
		finisher_waits.granted = true;
		make_runnable(&finisher_waits);
	}
}

static void submitter(void *arg)
{
	struct job *j = must_alloc(sizeof(*j));
	fiber_lock(&printer);
	j->lock = &printer;
	j->number = (int)(intptr_t)arg;
	printer.owner = finisher_co; // whom it goes to
	hand_on(j);
	ended++;
}

static void wait_for_job(void)
{
	finisher_waits = (struct waiting){.co = co_self()};
	finisher_idle = true;
	while (!finisher_waits.granted)
		co_yield();
}

static void print(struct job *j)
{
	char sheet[16];
	must(co_read(ep, paper[0], sheet, sizeof(sheet)));
	printed++;
	fiber_unlock(j->lock); // it came with the job
	free(j);
}

static void finisher(void *arg)
{
	(void)arg;
	while (printed < 2 * JOBS) {
		if (!pending)
			wait_for_job();
		struct job *j = pending;
		pending = j->next;
		print(j);
	}
	ended++;
}

static NOINLINE void load_paper(void)
{
	int before = printed;
	must(write(paper[1], "sheet", 5));
	while (printed == before)
		turn_and_run(ep);
	run_queue();
}

static NOINLINE void submit_all(void)
{
	for (int i = 0; i < JOBS; i++)
		co_start(submitter, (void *)(intptr_t)i);
	run_queue();
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	pair("unix", paper);
	finisher_co = co_new(finisher, NULL);
	co_resume(finisher_co);
	submit_all();
	for (int i = 0; i < JOBS; i++)
		load_paper();
	submit_all(); // one at the printer, two behind it
	serve_until_ordered(ep);
	for (int i = 0; i < JOBS; i++)
		load_paper();
	return all_resumed(2 * JOBS + 1);
}
