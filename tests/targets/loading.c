// SPDX-License-Identifier: MIT
//
// Threads that load a library and unload it, again and again, while main waits. Knows nothing of ctp.
//
// Usage: loading LIBRARY...: a thread for each. A line on standard input is answered with how often all have loaded
// theirs by now; its end ends the program.
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "must.h"

static unsigned long loaded;
static int ends;

static void *load(void *name)
{
	while (!__atomic_load_n(&ends, __ATOMIC_RELAXED)) {
		void *library = dlopen(name, RTLD_NOW);
		if (!library)
			_exit(2);
		dlclose(library);
		__atomic_fetch_add(&loaded, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[8];
	char byte;
	for (int i = 1; i < argc && i <= 8; i++)
		must(-pthread_create(&threads[i - 1], NULL, load, argv[i]));
	while (poll(&(struct pollfd){0, POLLIN, 0}, 1, -1) >= 0 && read(0, &byte, 1) == 1) {
		printf("loaded %lu\n", __atomic_load_n(&loaded, __ATOMIC_RELAXED));
		fflush(stdout);
	}
	__atomic_store_n(&ends, 1, __ATOMIC_RELAXED);
	for (int i = 1; i < argc && i <= 8; i++)
		pthread_join(threads[i - 1], NULL);
	return 0;
}
