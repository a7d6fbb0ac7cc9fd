// SPDX-License-Identifier: MIT
//
// probe.c - a cTP version-1 probe, written from the specification alone (it
// includes nothing of ours), as a program links one in: it attaches through
// the three environment variables. `probe STATIONS EVENTS` writes EVENTS state
// changes to each of STATIONS stations and prints what it wrote. `probe STATIONS EVENTS hold`
// leaves every other one alive, goes on without those that get none, and waits for stdin's end.
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "must.h"

struct slot {
	uint64_t timestamp, tid, addr;
	_Atomic uint64_t seq;
	char reserved[31];
	uint8_t is_active;
};

struct station {
	uint64_t probe_id, birth_ts;
	uint8_t is_dead, pad[47];
	struct slot slots[8];
	char flexible[448];
};

struct header {
	uint64_t magic;
	uint32_t version, max_stations;
	_Atomic uint32_t allocated_count, tracer_sleeping;
	char reserved[1000];
};

static struct header *header;
static int wake_fd = -1;

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void attach(void)
{
	const char *shm = getenv("CTP_SHM_PATH"), *sock = getenv("CTP_SOCK_PATH");
	const char *max = getenv("CTP_MAX_STATIONS");
	if (!shm || !sock || !max) {
		puts("untraced");
		exit(0);
	}
	size_t bytes = 1024 + (size_t)atoi(max) * 1024;
	int fd = (int)must(open(shm, O_RDWR));
	header = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(header == MAP_FAILED ? -1 : 0);
	must(close(fd));
	if (header->magic != 0x434F524F54524352u || header->version != 1)
		exit(3);
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	strncpy(a.sun_path, sock, sizeof(a.sun_path) - 1);
	wake_fd = (int)must(socket(AF_UNIX, SOCK_STREAM, 0));
	must(connect(wake_fd, (struct sockaddr *)&a, sizeof(a)));
	must(fcntl(wake_fd, F_SETFL, O_NONBLOCK));
}

static void event(struct station *s, unsigned n, uint64_t addr, int active)
{
	struct slot *slot = &s->slots[n % 8];
	uint64_t seq = atomic_load_explicit(&slot->seq, memory_order_relaxed);
	uint32_t one = 1;
	atomic_store_explicit(&slot->seq, seq + 1, memory_order_release);
	slot->addr = addr;
	slot->tid = (uint64_t)syscall(SYS_gettid);
	slot->timestamp = now();
	slot->is_active = (uint8_t)active;
	atomic_store_explicit(&slot->seq, seq + 2, memory_order_release);
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load(&header->tracer_sleeping) == 1 &&
	    atomic_compare_exchange_strong(&header->tracer_sleeping, &one, 0))
		must(write(wake_fd, "1", 1));
}

int main(int argc, char **argv)
{
	unsigned n = argc > 2 ? (unsigned)atoi(argv[1]) : 1, events = argc > 2 ? (unsigned)atoi(argv[2]) : 8;
	bool hold = argc > 3;
	attach();
	struct station *all = (struct station *)(header + 1);
	for (unsigned i = 0; i < n; i++) {
		uint32_t at = atomic_fetch_add_explicit(&header->allocated_count, 1, memory_order_relaxed);
		if (at >= header->max_stations && hold)
			continue;
		if (at >= header->max_stations)
			exit(4);
		all[at].probe_id = 0x7f00000000000000u + i;
		all[at].birth_ts = now();
		for (unsigned k = 0; k < events; k++)
			event(&all[at], k, k % 2 ? 0 : 0x1000 + k, k % 2);
		all[at].is_dead = !hold || i % 2;
	}
	printf("wrote %u stations %u events\n", n, n * events);
	fflush(stdout);
	while (hold && getchar() != EOF)
		;
	return 0;
}
