// SPDX-License-Identifier: MIT
//
// Reads pairs of ticks and CLOCK_MONOTONIC back to back; of several tries it takes the one
// in which the counter advanced least. Two pairs give the rate.
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
static inline uint64_t counter(void)
{
	return __builtin_ia32_rdtsc();
}
#define HAVE_COUNTER true
#else
static inline uint64_t counter(void)
{
	return 0;
}
#define HAVE_COUNTER false
#endif

static uint64_t read_ns(clockid_t which)
{
	struct timespec ts;
	clock_gettime(which, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

uint64_t clock_cpu_ns(void)
{
	return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t clock_mono_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

static bool kernel_uses_tsc(void)
{
	char name[32] = "";
	FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
	if (!f)
		return false;
	bool tsc = fgets(name, sizeof(name), f) && !strcmp(name, "tsc\n");
	fclose(f);
	return tsc && HAVE_COUNTER;
}

static void pair(bool tsc, uint64_t *ticks, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;
	if (!tsc) {
		*ticks = *ns = clock_mono_ns();
		return;
	}
	for (int i = 0; i < 8; i++) {
		uint64_t before = counter(), now = clock_mono_ns(), after = counter();
		if (after - before < best) {
			best = after - before;
			*ticks = before + best / 2;
			*ns = now;
		}
	}
}

static void begin(struct clock_pairs *c, bool tsc, uint64_t ticks0, uint64_t ns0)
{
	uint64_t mono = clock_mono_ns(), real = read_ns(CLOCK_REALTIME);
	*c = (struct clock_pairs){.tsc = tsc && HAVE_COUNTER,
				  .ticks0 = ticks0,
				  .ns0 = ns0,
				  .ticks1 = ticks0,
				  .ns1 = ns0,
				  .real0 = real - (mono - ns0),
				  .ns_per_tick = 1.0};
}

void clock_init(struct clock_pairs *c)
{
	uint64_t ticks = 0, ns = 0;
	bool tsc = kernel_uses_tsc();
	pair(tsc, &ticks, &ns);
	begin(c, tsc, ticks, ns);
}

void clock_adopt(struct clock_pairs *c, bool tsc, uint64_t ticks0, uint64_t ns0)
{
	begin(c, tsc, ticks0, ns0);
	clock_again(c);
}

void clock_again(struct clock_pairs *c)
{
	pair(c->tsc, &c->ticks1, &c->ns1);
	while (c->tsc && c->ns1 - c->ns0 < 200000) // too near for a rate
		pair(c->tsc, &c->ticks1, &c->ns1);
	if (c->tsc && c->ticks1 > c->ticks0 && c->ns1 > c->ns0)
		c->ns_per_tick = (double)(c->ns1 - c->ns0) / (double)(c->ticks1 - c->ticks0);
	else
		c->ns_per_tick = 1.0;
}

uint64_t clock_ticks(const struct clock_pairs *c)
{
	return c->tsc ? counter() : clock_mono_ns();
}

uint64_t clock_to_ns(const struct clock_pairs *c, uint64_t ticks)
{
	if (!c->tsc)
		return ticks;
	return c->ns1 + (uint64_t)(int64_t)((double)(int64_t)(ticks - c->ticks1) * c->ns_per_tick);
}

uint64_t clock_to_ticks(const struct clock_pairs *c, uint64_t ns)
{
	if (!c->tsc)
		return ns;
	return c->ticks1 + (uint64_t)(int64_t)((double)(int64_t)(ns - c->ns1) / c->ns_per_tick);
}

double clock_hz(const struct clock_pairs *c)
{
	return c->tsc ? 1e9 / c->ns_per_tick : 1e9;
}
