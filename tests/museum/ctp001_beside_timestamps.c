// SPDX-License-Identifier: MIT
// expect: CTP001 proven, 4 coroutines
// end: kill
//
// A series of measurements: the time in nanoseconds, as a double and as an integer. Both are
// as large as addresses are, but they are times.
#include "lost.h"

#define READERS 4
#define SAMPLES 100000

struct sample {
	double at;
	int64_t ns;
	float value;
	uint32_t sequence;
};

static struct sample *series;
static int sockets[READERS];

static NOINLINE void measure(void)
{
	series = must_alloc(SAMPLES * sizeof(*series));
	int64_t ns = 90000000000000; // a day of uptime
	for (uint32_t i = 0; i < SAMPLES; i++) {
		ns += 200000 + (int64_t)(random_word() % 100000);
		series[i] = (struct sample){(double)ns, ns, (float)(random_word() % 1000) / 8, i};
	}
}

static NOINLINE void reset(void)
{
	for (int i = 0; i < READERS; i++)
		close(sockets[i]); // fault
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	measure();
	for (int i = 0; i < READERS; i++)
		sockets[i] = open_reader("tcp");
	reset();
	serve_on();
}
