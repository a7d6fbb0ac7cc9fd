// SPDX-License-Identifier: MIT
//
// Boost.Fiber: main waits for fibers that wait for good, each in its own way; or that only seem to.
#include <boost/fiber/all.hpp>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <sys/prctl.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace bf = boost::fibers;
static bf::mutex accounts[2];
static long moved;

static void transfer(int from, int to)
{
	std::unique_lock<bf::mutex> a(accounts[from]);
	boost::this_fiber::yield();
	std::unique_lock<bf::mutex> b(accounts[to]); // waits in a circle
	moved++;
}

static void in_both_orders()
{
	bf::fiber x([] { transfer(0, 1); }), y([] { transfer(1, 0); });
	x.join();
	y.join();
}

static bf::mutex kept;

static void update(int i)
{
	kept.lock(); // waits for a lock
	if (i == 3)
		return; // it was not given back
	boost::this_fiber::yield();
	kept.unlock();
}

static void lock_kept()
{
	std::vector<bf::fiber> all;
	for (int i = 0; i < 8; i++)
		all.emplace_back(update, i);
	for (auto &f : all)
		f.join();
}

static bf::buffered_channel<int> channel(16);

static void consume()
{
	int v;
	while (channel.pop(v) == bf::channel_op_status::success) // waits for a value
		moved += v;
}

static void channel_open()
{
	bf::fiber from([] {
		for (int i = 0; i < 100; i++)
			channel.push(i);
	});
	bf::fiber to(consume);
	from.join();
	to.join();
}

// Its workers have ended, each with its stack until main joins it, when the producer gives up.
static void ended_first()
{
	std::vector<bf::fiber> all;
	all.emplace_back(consume);
	all.emplace_back([] { channel.push(1); });
	for (int i = 0; i < 5; i++)
		all.emplace_back([] {
			for (int k = 0; k < 3; k++) {
				boost::this_fiber::sleep_for(std::chrono::milliseconds(1));
				moved++;
			}
		});
	for (auto &f : all)
		f.join();
}

static void tick()
{
	for (;;)
		boost::this_fiber::sleep_for(std::chrono::milliseconds(10));
}

// The notification came before the wait, which looks at no condition. Another fiber goes on.
static void notified_first()
{
	bf::mutex m;
	bf::condition_variable c;
	bf::fiber beside(tick);
	c.notify_one();
	bf::fiber late([&] {
		std::unique_lock<bf::mutex> l(m);
		c.wait(l); // waits for a notification
	});
	late.join();
}

// It has had what there is, and may get more.
static void served_before()
{
	bf::fiber beside(tick), to(consume), from([] {
		for (int i = 0; i < 5; i++) {
			boost::this_fiber::sleep_for(std::chrono::milliseconds(1));
			channel.push(i);
		}
	});
	from.join();
	to.join();
}

// Another thread sleeps, and then sends: until then all is as if nobody did.
static void sent_later()
{
	bf::fiber to(consume);
	std::thread sender([] {
		std::this_thread::sleep_for(std::chrono::seconds(60));
		channel.push(1);
		channel.close();
	});
	to.join();
	sender.join();
}

// The channel is closed when a byte comes through a pipe that another process holds, too.
static void outside_wakes()
{
	int ends[2];
	if (pipe(ends))
		return;
	pid_t child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sleep(60);
		_exit(write(ends[1], "x", 1) != 1);
	}
	std::thread reader([&ends] {
		char c;
		moved += read(ends[0], &c, 1);
		channel.close();
	});
	bf::fiber to(consume);
	to.join();
	reader.join();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)();
	} ways[] = {{"in_both_orders", in_both_orders},
		    {"lock_kept", lock_kept},
		    {"channel_open", channel_open},
		    {"ended_first", ended_first},
		    {"notified_first", notified_first},
		    {"served_before", served_before},
		    {"sent_later", sent_later},
		    {"outside_wakes", outside_wakes}};
	for (auto &w : ways)
		if (argc > 1 && !strcmp(argv[1], w.name))
			w.run();
	printf("moved %ld\n", moved);
}
