// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 2 coroutines
// order: SIGUSR1
//
// Whoever is evicted is the name of a thread that waits for work: only the kernel knows it.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#include "evicted.h"

enum { KEPT = 2, NAME = 16 };
static pthread_t threads[KEPT];
static sem_t work;

static void *wait_for_work(void *arg)
{
	while (sem_wait(&work))
		;
	return arg;
}

static NOINLINE void keep(int i, struct co *c)
{
	char name[NAME];
	snprintf(name, sizeof(name), "w-%lx", (unsigned long)(uintptr_t)c);
	must(-pthread_setname_np(threads[i], name));
	memset(name, 0, sizeof(name));
}

static NOINLINE struct co *find(int i)
{
	char name[NAME];
	must(-pthread_getname_np(threads[i], name, sizeof(name)));
	return (struct co *)(uintptr_t)strtoul(name + 2, NULL, 16);
}

int main(void)
{
	must(sem_init(&work, 0, 0));
	for (int i = 0; i < KEPT; i++)
		must(-pthread_create(&threads[i], NULL, wait_for_work, NULL));
	return evict_and_serve(4, KEPT);
}
