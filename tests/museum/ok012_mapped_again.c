// SPDX-License-Identifier: MIT
// expect: clean
// patched: slot struct
// end: exit
//
// Stacks live in a memfd and are mapped only while their coroutines are in use:
// unmapped when idle, and mapped again at the same address before they run.
#include <sys/mman.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define BYTES (64 << 10)

static int served;

static void session(void *arg)
{
	(void)arg;
	for (int i = 0; i < 3; i++) {
		co_yield();
		served++;
	}
}

int main(void)
{
	struct co c = {.pinned = true};
	int fd = (int)must(memfd_create("stack", 0));
	must(ftruncate(fd, BYTES));
	char *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	co_init(&c, session, NULL, at, BYTES);
	co_resume(&c);
	while (!c.done) {
		must(munmap(at, BYTES));
		must((long)mmap(at, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != -1);
		co_resume(&c);
	}
	say(served == 3 ? "done" : "wrong");
}
