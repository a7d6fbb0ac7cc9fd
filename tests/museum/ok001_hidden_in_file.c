// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 3 coroutines
// order: SIGUSR1
//
// Whoever is evicted is written to a file of its own, which is closed: in decimal digits, in hexadecimal ones, or
// as it is behind a long header. Their names are known whole, by a format, or as those of this folder.
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "evicted.h"

enum { EVICTED = 3, HEADER = 200000 };
static char first[4096];

static void name_of_second(char *name, size_t n)
{
	snprintf(name, n, "/tmp/museum-session.%d.txt", (int)getpid());
}

static void on_end(int number)
{
	char name[64];
	(void)number;
	name_of_second(name, sizeof(name));
	unlink(name);
	_exit(0);
}

static NOINLINE void put(const char *name, const char *record, size_t n, off_t at)
{
	int fd = (int)must(open(name, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
	must(pwrite(fd, record, n, at));
	close(fd);
}

static NOINLINE void get(const char *name, char *record, size_t n, off_t at)
{
	int fd = (int)must(open(name, O_RDONLY | O_CLOEXEC));
	must(pread(fd, record, n, at));
	close(fd);
	must(unlink(name));
}

static NOINLINE void keep(int i, struct co *c)
{
	char name[64], record[64] = "";
	unsigned long handle = (uintptr_t)c;
	name_of_second(name, sizeof(name));
	if (i == 0) {
		must(getcwd(first, sizeof(first) - 16) ? 0 : -1);
		strcat(first, "/first.json");
		snprintf(record, sizeof(record), "{\"requests\": 3, \"handle\": %lu}\n", handle);
		put(first, record, strlen(record), 0);
	} else if (i == 1) {
		snprintf(record, sizeof(record), "session=%lx\n", handle);
		put(name, record, strlen(record), 0);
	} else {
		put("third.bin", (const char *)&handle, sizeof(handle), HEADER);
	}
	memset(record, 0, sizeof(record));
	__asm__ volatile("" : : "r"(record), "r"(&handle) : "memory");
}

static NOINLINE struct co *find(int i)
{
	char name[64], record[64] = "";
	unsigned long handle = 0;
	name_of_second(name, sizeof(name));
	if (i == 0) {
		get(first, record, sizeof(record) - 1, 0);
		sscanf(record, "{\"requests\": 3, \"handle\": %lu}", &handle);
	} else if (i == 1) {
		get(name, record, sizeof(record) - 1, 0);
		sscanf(record, "session=%lx", &handle);
	} else {
		get("third.bin", (char *)&handle, sizeof(handle), HEADER);
	}
	return (struct co *)(uintptr_t)handle;
}

int main(void)
{
	struct sigaction act = {.sa_handler = on_end};
	must(sigaction(SIGTERM, &act, NULL));
	must(sigaction(SIGINT, &act, NULL));
	return evict_and_serve(6, EVICTED);
}
