// SPDX-License-Identifier: MIT
//
// Boost.Fiber: fibers that pass numbers through buffered channels, and join. One thread, so that each run switches as
// often as the other.
#include <boost/fiber/all.hpp>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int, char **argv)
{
	const int pairs = std::atoi(argv[1]), rounds = std::atoi(argv[2]);
	long sum = 0;
	std::vector<boost::fibers::fiber> fibers;
	std::vector<std::unique_ptr<boost::fibers::buffered_channel<int>>> channels;
	for (int i = 0; i < pairs; i++) {
		channels.emplace_back(new boost::fibers::buffered_channel<int>(2));
		auto *c = channels.back().get();
		fibers.emplace_back([c, rounds] {
			for (int k = 0; k < rounds; k++)
				c->push(k);
			c->close();
		});
		fibers.emplace_back([c, &sum] {
			for (int got; c->pop(got) == boost::fibers::channel_op_status::success;)
				sum += got;
		});
	}
	for (auto &f : fibers)
		f.join();
	std::printf("sum %ld\n", sum);
}
