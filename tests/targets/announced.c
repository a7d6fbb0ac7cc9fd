// SPDX-License-Identifier: MIT
//
// A scheduler of one's own that tells of its coroutines (include/ctp/coroutine.h): each is a function that is called
// anew with its state, and so has no stack that anybody could see being switched. Valid as C11 and as C++11.
//
//	announced-c count N     N coroutines, 10 turns each; says created, resumed, suspended, ended
//	announced-c lost N      each waits for a descriptor, which is closed; then a long wait
//	announced-c misuse      all calls in a wrong order
//	announced-c ways short|other N  the same N runs of coroutines, some of which have stacks, for a comparison of what is written
//	                        down. other: a getcontext comes before each call, so that none can take the short way
#include <ctp/coroutine.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

struct job {
	ctp_coroutine ctp; // first: a pointer to the job leads to what is known as its memory, too
	int turns, fd;
	char locals[64];
};

static long created, resumed, suspended, ended;

static void work(void)
{
}

static struct job *job_new(int turns)
{
	struct job *j = (struct job *)calloc(1, sizeof(*j));
	if (!j)
		abort();
	j->turns = turns;
	j->fd = -1;
	ctp_coroutine_created(&j->ctp, j, sizeof(*j), work);
	created++;
	return j;
}

static void job_waits(struct job *j, ctp_reason reason)
{
	suspended++;
	ctp_coroutine_suspended(&j->ctp, reason, j->fd); // fault
}

// 0: it has ended.
static int job_run(struct job *j)
{
	resumed++;
	ctp_coroutine_resumed(&j->ctp);
	if (j->turns-- > 0) {
		job_waits(j, CTP_REASON_YIELD);
		return 1;
	}
	ended++;
	ctp_coroutine_ended(&j->ctp);
	return 0;
}

static void count(int n)
{
	struct job **all = (struct job **)calloc((size_t)n, sizeof(*all));
	int living = n;
	for (int i = 0; all && i < n; i++)
		all[i] = job_new(10);
	while (all && living) {
		for (int i = 0; i < n; i++) {
			if (all[i] && !job_run(all[i])) {
				free(all[i]);
				all[i] = NULL;
				living--;
			}
		}
	}
	free(all);
	printf("%ld %ld %ld %ld\n", created, resumed, suspended, ended);
}

static __attribute__((noinline)) void reap(int fd)
{
	close(fd);
}

static void lost(int n)
{
	struct epoll_event ev;
	int set = epoll_create1(0), *fds = (int *)calloc((size_t)n, sizeof(*fds));
	if (!fds)
		abort();
	for (int i = 0; i < n; i++) {
		int ends[2];
		struct job *j = job_new(1);
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends))
			abort();
		fds[i] = j->fd = ends[0];
		ctp_coroutine_resumed(&j->ctp);
		memset(&ev, 0, sizeof(ev));
		ev.events = EPOLLIN;
		ev.data.ptr = j;
		epoll_ctl(set, EPOLL_CTL_ADD, j->fd, &ev);
		job_waits(j, CTP_REASON_READ);
	}
	for (int i = 0; i < 8; i++)
		epoll_wait(set, &ev, 1, 10);
	for (int i = 0; i < n; i++)
		reap(fds[i]);
	free(fds);
	memset(&ev, 0, sizeof(ev));
	for (int i = 0; i < 8; i++)
		epoll_wait(set, &ev, 1, 10);
	puts("ready");
	fflush(stdout);
	for (;;)
		epoll_wait(set, &ev, 1, -1);
}

static void misuse(void)
{
	struct job *a = job_new(1), *b = job_new(1);
	ctp_coroutine garbage;
	memset(&garbage, 0xa5, sizeof(garbage));
	garbage.memory = NULL;
	garbage.bytes = 0;
	ctp_coroutine_suspended(&garbage, CTP_REASON_OTHER, -1);
	ctp_coroutine_ended(&garbage);
	ctp_coroutine_suspended(&a->ctp, CTP_REASON_READ, 9999);
	ctp_coroutine_suspended(&a->ctp, (ctp_reason)77, -1);
	ctp_coroutine_resumed(&a->ctp);
	ctp_coroutine_resumed(&a->ctp);
	ctp_coroutine_resumed(&b->ctp);
	ctp_coroutine_suspended(&a->ctp, CTP_REASON_NONE, 0); // b was above it
	ctp_coroutine_suspended(&b->ctp, CTP_REASON_NONE, 1 << 30);
	ctp_coroutine_resumed(&b->ctp);
	ctp_coroutine_ended(&b->ctp);
	ctp_coroutine_ended(&b->ctp);
	ctp_coroutine_resumed(&b->ctp); // after its end
	ctp_coroutine_destroyed(&b->ctp);
	ctp_coroutine_destroyed(&a->ctp);
	ctp_coroutine_destroyed(&a->ctp);
	ctp_coroutine_resumed(&a->ctp);
	ctp_coroutine_destroyed(&a->ctp); // while it runs
	puts("survived");
	free(a);
	free(b);
}

// ------------------------------------------------------------- two ways

enum { WAYS_JOBS = 12, WAYS_STACK = 65536, WAYS_DEEP = 4 };

static struct job jobs[WAYS_JOBS];
static bool runs[WAYS_JOBS], long_way;
static unsigned seed = 1;
static int left;

static unsigned next(unsigned n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % n;
}

static void before(void)
{
	static ucontext_t c;
	if (long_way)
		getcontext(&c);
}

static char *stack_of(int i)
{
	static char *stacks;
	if (!stacks && !(stacks = (char *)calloc(WAYS_JOBS, WAYS_STACK)))
		abort();
	return stacks + i * WAYS_STACK;
}

static bool has_stack(int i)
{
#if defined(__x86_64__)
	return i % 2;
#else
	return i < 0;
#endif
}

static void begin(int i)
{
	memset(&jobs[i], 0, sizeof(jobs[i]));
	if (has_stack(i))
		ctp_coroutine_created(&jobs[i].ctp, stack_of(i), WAYS_STACK, work);
	else
		ctp_coroutine_created(&jobs[i].ctp, &jobs[i], sizeof(jobs[i]), work);
}

static __attribute__((noinline)) void leave_here(int i)
{
	before();
	ctp_coroutine_suspended(&jobs[i].ctp, (ctp_reason)next(CTP_REASONS), -1);
}

static __attribute__((noinline)) void leave_there(int i)
{
	before();
	ctp_coroutine_suspended(&jobs[i].ctp, CTP_REASON_YIELD, -1);
}

static void enter(int i, int deep);

static __attribute__((noinline)) void body(int i, int deep)
{
	for (unsigned more = next(3); more && deep < WAYS_DEEP; more--)
		enter((int)next(WAYS_JOBS), deep + 1);
	if (next(8)) {
		if (next(4))
			leave_here(i);
		else
			leave_there(i);
		return;
	}
	before();
	if (next(2)) {
		ctp_coroutine_ended(&jobs[i].ctp);
	} else {
		leave_here(i);
		ctp_coroutine_destroyed(&jobs[i].ctp);
	}
	begin(i);
}

// body, on the job's own stack.
static __attribute__((noinline)) void on_stack(int i, int deep)
{
#if defined(__x86_64__)
	long self = i, depth = deep;
	__asm__ volatile("movq %%rsp, %%rbx\n\tmovq %2, %%rsp\n\tcall *%3\n\tmovq %%rbx, %%rsp"
			 : "+D"(self), "+S"(depth)
			 : "r"(stack_of(i) + WAYS_STACK), "r"(body)
			 : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "cc", "memory");
#else
	body(i, deep);
#endif
}

static void enter(int i, int deep)
{
	if (runs[i] || left-- <= 0)
		return;
	runs[i] = true;
	before();
	ctp_coroutine_resumed(&jobs[i].ctp);
	if (has_stack(i))
		on_stack(i, deep);
	else
		body(i, deep);
	runs[i] = false;
}

static void ways(int n)
{
	for (int i = 0; i < WAYS_JOBS; i++)
		begin(i);
	for (left = n; left > 0;)
		enter((int)next(WAYS_JOBS), 0);
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 10;
	if (argc > 1 && !strcmp(argv[1], "lost"))
		lost(n);
	else if (argc > 1 && !strcmp(argv[1], "misuse"))
		misuse();
	else if (argc > 3 && !strcmp(argv[1], "ways")) {
		long_way = strcmp(argv[2], "other") == 0;
		ways(atoi(argv[3]));
	} else
		count(n);
	return 0;
}
