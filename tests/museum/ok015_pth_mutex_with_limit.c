// SPDX-License-Identifier: MIT
// expect: clean
// needs: libpth-dev
//
// GNU Pth. Two threads take two mutexes in both orders, but the second one each with a
// time limit, after which the thread gives the first one back and tries again later. A
// third thread has a mutex for which two others wait, while it waits for a message.
#include <pth.h>

#include "must.h"

static pth_mutex_t left = PTH_MUTEX_INIT, right = PTH_MUTEX_INIT, log_file = PTH_MUTEX_INIT;
static pth_cond_t message = PTH_COND_INIT;
static pth_mutex_t for_message = PTH_MUTEX_INIT;
static int gave_up;

static void try_both(pth_mutex_t *first, pth_mutex_t *second, int ms)
{
	for (;;) {
		must(pth_mutex_acquire(first, FALSE, NULL) ? 0 : -1);
		pth_yield(NULL);
		pth_event_t limit = pth_event(PTH_EVENT_TIME, pth_timeout(0, ms * 1000L));
		if (pth_mutex_acquire(second, FALSE, limit))
			pth_mutex_release(second);
		pth_event_free(limit, PTH_FREE_ALL);
		pth_mutex_release(first);
		if (++gave_up == 4)
			say("ready");
		pth_yield(NULL);
	}
}

static void *one(void *arg)
{
	try_both(&left, &right, 20);
	return arg;
}

static void *other(void *arg)
{
	try_both(&right, &left, 50);
	return arg;
}

static void *keeps_log(void *arg)
{
	must(pth_mutex_acquire(&log_file, FALSE, NULL) ? 0 : -1);
	must(pth_mutex_acquire(&for_message, FALSE, NULL) ? 0 : -1);
	must(pth_cond_await(&message, &for_message, NULL) ? 0 : -1);
	pth_mutex_release(&log_file);
	return arg;
}

static void *logs(void *arg)
{
	must(pth_mutex_acquire(&log_file, FALSE, NULL) ? 0 : -1);
	pth_mutex_release(&log_file);
	return arg;
}

int main(void)
{
	must(pth_init() ? 0 : -1);
	pth_spawn(PTH_ATTR_DEFAULT, keeps_log, NULL);
	pth_spawn(PTH_ATTR_DEFAULT, logs, NULL);
	pth_spawn(PTH_ATTR_DEFAULT, logs, NULL);
	pth_spawn(PTH_ATTR_DEFAULT, one, NULL);
	pth_join(pth_spawn(PTH_ATTR_DEFAULT, other, NULL), NULL);
}
