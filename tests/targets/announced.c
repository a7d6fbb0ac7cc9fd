// SPDX-License-Identifier: MIT
//
// A scheduler of one's own that tells of its coroutines (include/ctp/coroutine.h): each is a function that is called
// anew with its state, and so has no stack that anybody could see being switched. Valid as C11 and as C++11.
//
//	announced-c count N     N coroutines, 10 turns each; says created, resumed, suspended, ended
//	announced-c lost N      each waits for a descriptor, which is closed; then a long wait
//	announced-c misuse      all calls in a wrong order
#include <ctp/coroutine.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
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

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 10;
	if (argc > 1 && !strcmp(argv[1], "lost"))
		lost(n);
	else if (argc > 1 && !strcmp(argv[1], "misuse"))
		misuse();
	else
		count(n);
	return 0;
}
