// SPDX-License-Identifier: MIT
// expect: CTP003 suspect, 3 coroutines in 1 finding
// not: history lost, who resumed whom is read from there
//
// Writers of a cache share a lock, at which they are queued by number. The cache gets full: the
// one who finds it so returns without giving the lock back, sleeps, and comes to take it again.
// All of them wait there now. A coroutine that counts goes on.
#include "rhythm.h"

#define WRITERS 3
#define ROOM 60

static struct {
	int owner, queue[WRITERS], n; // owner: its number, and one more; 0: nobody
} lock;
static struct co *writers[WRITERS], *runnable[WRITERS];
static int nrunnable, entries, counted;

static NOINLINE void take(int me)
{
	long before = now_ms();
	if (lock.owner) {
		lock.queue[lock.n++] = me;
		co_yield (); // fault
		long took = now_ms() - before;
		longest_ms = took > longest_ms ? took : longest_ms;
	}
	lock.owner = me + 1;
}

static NOINLINE void give_back(void)
{
	lock.owner = 0;
	if (!lock.n)
		return;
	int next = lock.queue[0];
	for (int i = 1; i < lock.n; i++)
		lock.queue[i - 1] = lock.queue[i];
	lock.n--;
	lock.owner = next + 1; // nobody comes between
	runnable[nrunnable++] = writers[next];
}

static NOINLINE bool put(int me)
{
	take(me);
	if (entries >= ROOM)
		return false;
	sleep_for(2);
	entries++;
	give_back();
	return true;
}

static void writer(void *arg)
{
	int me = (int)(intptr_t)arg;
	writers[me] = co_self();
	for (;;) {
		bool full = !put(me);
		sleep_for(full ? 6 : 3 + me);
		if (full)
			stopped_ms = now_ms();
	}
}

static void counter(void *arg)
{
	(void)arg;
	for (;; counted++)
		sleep_for(5);
}

int main(void)
{
	bool said = false;
	start_all(writer, WRITERS);
	co_start(counter, NULL);
	for (;;) {
		tick();
		while (nrunnable)
			co_resume(runnable[--nrunnable]);
		if (!said && lock.n == WRITERS && stands_out()) {
			said = true;
			say("ready");
		}
	}
}
