// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 2 coroutines
// order: SIGABRT
//
// A job server that survives a failed assertion: the handler of SIGABRT leaves
// by siglongjmp, the job that was current is written off, and every worker whose
// pipe to it is closed is told to give up. Anyone may send the signal, too.
#include "ordered.h"

#define JOBS 4
#define BROKEN 2

enum state { FREE, RUNS, CLOSED };

static struct job {
	enum state state;
	int input, output;
	struct co *worker;
} jobs[JOBS];

static sigjmp_buf safe_place;
static int ep, lines;

static void on_abort(int number)
{
	(void)number;
	siglongjmp(safe_place, 1);
}

static void worker(void *arg)
{
	struct job *job = arg;
	char line[80];
	while (co_read(ep, job->input, line, sizeof(line)) > 0)
		lines++;
	if (job->state == CLOSED)
		ended++;
	job->state = FREE;
}

static NOINLINE void start_job(struct job *job)
{
	int fds[2];
	pair("pipe", fds);
	job->input = fds[0];
	job->output = fds[1];
	job->state = RUNS;
	job->worker = co_new(worker, job);
	co_resume(job->worker);
}

static NOINLINE void feed(const char *line)
{
	for (int i = 0; i < JOBS; i++)
		if (jobs[i].state == RUNS)
			must(write(jobs[i].output, line, strlen(line)));
	while (lines % JOBS != 0 || lines == 0)
		co_turn(ep, -1);
}

// Their quota is used up: the input is gone, the worker is collected later.
static NOINLINE void stop_input(int first)
{
	for (int i = first; i < JOBS; i++) {
		close(jobs[i].input); // fault
		jobs[i].state = CLOSED;
	}
}

static NOINLINE void write_off(void)
{
	for (int i = 0; i < JOBS; i++)
		if (jobs[i].state == CLOSED)
			co_resume(jobs[i].worker);
}

int main(void)
{
	struct sigaction act = {.sa_handler = on_abort, .sa_flags = SA_NODEFER};
	must(sigaction(SIGABRT, &act, NULL));
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < JOBS; i++)
		start_job(&jobs[i]);
	feed("first\n");
	feed("second\n");
	stop_input(JOBS - BROKEN);
	if (!sigsetjmp(safe_place, 1)) {
		say("ready");
		co_loop(ep);
	}
	write_off();
	return all_resumed(BROKEN);
}
