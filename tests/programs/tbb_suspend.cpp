// SPDX-License-Identifier: MIT
//
// oneTBB's task::suspend: each task suspends itself and is resumed by another
// thread; its stack then goes on on whatever worker takes it.
#include <oneapi/tbb.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

int main(int argc, char **argv)
{
	int n = argc > 1 ? std::atoi(argv[1]) : 2000;
	std::atomic<long> sum{0};
	tbb::concurrent_bounded_queue<tbb::task::suspend_point> asleep;
	std::thread waker([&] {
		for (int i = 0; i < n; i++) {
			tbb::task::suspend_point p;
			asleep.pop(p);
			tbb::task::resume(p);
		}
	});
	tbb::task_group group;
	for (int i = 0; i < n; i++)
		group.run([&, i] {
			tbb::task::suspend([&](tbb::task::suspend_point p) { asleep.push(p); });
			sum += i;
		});
	group.wait();
	waker.join();
	std::printf("%d tasks, sum %ld\n", n, sum.load());
	return 0;
}
