// SPDX-License-Identifier: MIT
//
// The probe of events_usdt.c that has a semaphore, which says whether anybody listens.
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

unsigned short other_round_semaphore __attribute__((section(".probes"), used));
void events_usdt_round(int me, int i);
extern long asked;
long asked;

void events_usdt_round(int me, int i)
{
	if (*(volatile unsigned short *)&other_round_semaphore)
		asked++;
	STAP_PROBE2(other, round, me, i);
}
