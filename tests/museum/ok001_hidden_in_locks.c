// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 2 coroutines
// order: SIGUSR1
//
// Whoever is evicted is the range of a lock of records, which the kernel alone knows.
#include <fcntl.h>
#include <stdio.h>

#include "evicted.h"

enum { KEPT = 2 };
static int files[KEPT];

static NOINLINE void keep(int i, struct co *c)
{
	struct flock l = {.l_type = F_WRLCK, .l_start = (off_t)(uintptr_t)c, .l_len = 1};
	must(fcntl(files[i], F_SETLK, &l));
	memset(&l, 0, sizeof(l));
}

static NOINLINE struct co *find(int i)
{
	char path[40], line[128];
	unsigned long first = 0;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", files[i]);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "lock: %*s POSIX ADVISORY WRITE %*d %*s %lu", &first);
	if (f)
		fclose(f);
	return (struct co *)first;
}

int main(void)
{
	for (int i = 0; i < KEPT; i++)
		files[i] = (int)must(open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
	return evict_and_serve(4, KEPT);
}
