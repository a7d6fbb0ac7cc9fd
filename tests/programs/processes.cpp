// SPDX-License-Identifier: MIT
//
// processes.cpp N: two SystemC processes that wait for each other's event, N times each.
#include <cstdio>
#include <cstdlib>
#include <systemc.h>

static int rounds = 10;
static long woken;

SC_MODULE(pair_of_processes)
{
	sc_event ping, pong;
	void first()
	{
		for (int i = 0; i < rounds; i++) {
			ping.notify(SC_ZERO_TIME);
			wait(pong);
			woken++;
		}
	}
	void second()
	{
		for (int i = 0; i < rounds; i++) {
			wait(ping);
			woken++;
			pong.notify(SC_ZERO_TIME);
		}
	}
	SC_CTOR(pair_of_processes)
	{
		SC_THREAD(first);
		SC_THREAD(second);
	}
};

int sc_main(int argc, char **argv)
{
	rounds = argc > 1 ? std::atoi(argv[1]) : rounds;
	pair_of_processes p("p");
	sc_start();
	std::printf("woken %ld\n", woken);
	return 0;
}
