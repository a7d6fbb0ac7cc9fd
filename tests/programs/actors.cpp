// SPDX-License-Identifier: MIT
//
// SimGrid actors that sleep in simulated time; which contexts they run in is
// the library's choice (--cfg=contexts/factory, contexts/nthreads).
#include <simgrid/s4u.hpp>

#include <cstdio>
#include <string>

namespace sg4 = simgrid::s4u;

int main(int argc, char **argv)
{
	sg4::Engine engine(&argc, argv);
	int actors = std::stoi(argv[1]), rounds = std::stoi(argv[2]), sum = 0;
	auto *zone = sg4::create_star_zone("zone");
	sg4::Host *host = zone->create_host("host", 1e9);
	zone->seal();
	for (int i = 0; i < actors; i++)
		sg4::Actor::create("actor", host, [i, rounds, &sum] {
			for (int k = 0; k < rounds; k++) {
				sg4::this_actor::sleep_for(1 + i % 3);
				__atomic_fetch_add(&sum, 1, __ATOMIC_RELAXED);
			}
		});
	engine.run();
	std::printf("%d rounds until %.0f\n", sum, sg4::Engine::get_clock());
}
