// SPDX-License-Identifier: MIT
//
// sound_cxx.cpp - see sound_hide.h: what C++ servers keep their waiters in; and
// how they lose them.
#define _Noreturn [[noreturn]]
extern "C" {
#include "sound_hide.h"
}

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <any>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

namespace {

struct session : std::enable_shared_from_this<session> {
	virtual ~session() = default;
	std::string name = "a name that is longer than fits";
	co *waits = nullptr;
};

// ---- owners and observers

std::vector<std::shared_ptr<session>> sessions;

void hide_shared(co *c)
{
	sessions.push_back(std::make_shared<session>());
	sessions.back()->waits = c;
}

co *find_shared()
{
	return sessions.back()->waits;
}

// Whoever waits owns itself, by a pointer on its own stack; the registry only observes.
std::map<int, std::weak_ptr<session>> registry;

void owns_itself(void *fn)
{
	auto self = std::make_shared<session>();
	self->waits = co_self();
	registry[7] = self;
	reinterpret_cast<co_fn *>(fn)(nullptr);
}

co *make_self_owner(co_fn *fn)
{
	return co_new(owns_itself, reinterpret_cast<void *>(fn));
}

void hide_nothing(co *)
{
}

co *find_self_owner()
{
	return registry[7].lock()->waits;
}

std::unordered_map<uint32_t, std::unique_ptr<session>> by_number;

void hide_by_number(co *c)
{
	for (uint32_t i = 0; i < 50; i++)
		by_number[i * 2654435761u] = std::make_unique<session>();
	by_number[17 * 2654435761u]->waits = c;
}

co *find_by_number()
{
	return by_number[17 * 2654435761u]->waits;
}

// ---- values

std::map<std::string, std::function<co *()>> callbacks;

void hide_callback(co *c)
{
	std::string more(40, 'x');
	callbacks["on timeout"] = [c, more] { return more.empty() ? nullptr : c; };
}

co *find_callback()
{
	return callbacks["on timeout"]();
}

std::any anything;

void hide_any(co *c)
{
	anything = std::make_pair(c, std::string(40, 'x'));
}

co *find_any()
{
	return std::any_cast<std::pair<co *, std::string>>(anything).first;
}

// A message that was made ready to be sent: the pointer stands at an odd place in it.
std::string message;

void hide_message(co *c)
{
	message = "cookie=";
	message.append(reinterpret_cast<char *>(&c), sizeof(c));
}

co *find_message()
{
	co *c;
	std::memcpy(&c, message.data() + 7, sizeof(c));
	return c;
}

using timeout = std::pair<long, std::variant<int, std::string, co *>>;
std::priority_queue<timeout, std::deque<timeout>> timeouts;

void hide_queue(co *c)
{
	for (long i = 0; i < 100; i++)
		timeouts.emplace(i, std::string("other"));
	timeouts.emplace(1000, c);
}

co *find_queue()
{
	return std::get<co *>(timeouts.top().second);
}

std::promise<co *> promised;

void hide_promise(co *c)
{
	promised.set_value(c);
}

co *find_promise()
{
	return promised.get_future().get();
}

// ---- exceptions

std::exception_ptr failure;

void hide_exception(co *c)
{
	try {
		throw std::make_pair(std::string("timed out"), c);
	} catch (...) {
		failure = std::current_exception();
	}
}

co *find_exception()
{
	try {
		std::rethrow_exception(failure);
	} catch (std::pair<std::string, co *> &p) {
		return p.second;
	}
}

// ---- threads

pthread_barrier_t there, asked;
co *volatile given;

// A thread rests where it has caught the exception.
void catches()
{
	try {
		co *c = given;
		given = nullptr;
		throw c;
	} catch (co *c) {
		c = nullptr;
		wipe();
		pthread_barrier_wait(&there);
		pthread_barrier_wait(&asked);
		try {
			throw;
		} catch (co *again) {
			given = again;
		}
	}
}

struct at_thread_end {
	co *c = nullptr;
	~at_thread_end()
	{
		given = c;
	}
};
thread_local at_thread_end last_wish;

__attribute__((noinline)) void wish()
{
	last_wish.c = given;
	given = nullptr;
}

void wishes()
{
	wish();
	wipe();
	pthread_barrier_wait(&there);
	pthread_barrier_wait(&asked);
}

template <void (*main)()> void hide_thread(co *c)
{
	pthread_barrier_init(&there, nullptr, 2);
	pthread_barrier_init(&asked, nullptr, 2);
	given = c;
	std::thread(main).detach();
	pthread_barrier_wait(&there);
}

co *find_given()
{
	pthread_barrier_wait(&asked);
	while (!given)
		sched_yield();
	return given;
}

// ---- lost: the way back was there, and is no more

void lose_erased(co *c)
{
	hide_by_number(c);
	by_number.erase(17 * 2654435761u);
}

// What the vector has behind its end is still there.
void lose_popped(co *c)
{
	static std::vector<co *> stack;
	stack.reserve(8);
	stack.push_back(c);
	stack.pop_back();
}

void lose_callback(co *c)
{
	hide_callback(c);
	callbacks["on timeout"] = nullptr;
}

// The object is gone, its memory is not: it lies in one block with the counters, which are observed.
void lose_expired(co *c)
{
	static std::weak_ptr<session> observer;
	auto s = std::make_shared<session>();
	s->waits = c;
	observer = s;
}

void lose_exception(co *c)
{
	hide_exception(c);
	failure = nullptr;
}

void lose_cleared(co *c)
{
	hide_queue(c);
	timeouts = {};
}

void lose_overwritten(co *c)
{
	static session *ring[4];
	for (int i = 0; i < 5; i++)
		(ring[i % 4] = new session)->waits = i ? nullptr : c;
}

void lose_message(co *c)
{
	int fds[2];
	char taken[64];
	hide_message(c);
	pair("unix", fds);
	must(write(fds[1], message.data(), message.size()));
	message = std::string();
	message.shrink_to_fit();
	must(read(fds[0], taken, sizeof(taken)));
	std::memset(taken, 0, sizeof(taken));
	__asm__ volatile("" : : "r"(taken) : "memory");
}

void ends()
{
	last_wish.c = nullptr;
	given = nullptr;
}

void lose_thread(co *c)
{
	given = c;
	std::thread(ends).join();
}

void lose_nowhere(co *)
{
}

co *find_nothing()
{
	return nullptr;
}

} // namespace

extern "C" const struct hide hides_cxx[] = {
	{"shared", nullptr, hide_shared, find_shared},
	{"self_owner", make_self_owner, hide_nothing, find_self_owner},
	{"by_number", nullptr, hide_by_number, find_by_number},
	{"callback", nullptr, hide_callback, find_callback},
	{"any", nullptr, hide_any, find_any},
	{"message", nullptr, hide_message, find_message},
	{"queue", nullptr, hide_queue, find_queue},
	{"promise", nullptr, hide_promise, find_promise},
	{"exception", nullptr, hide_exception, find_exception},
	{"in_flight", nullptr, hide_thread<catches>, find_given},
	{"last_wish", nullptr, hide_thread<wishes>, find_given},
	{"lost_erased", nullptr, lose_erased, find_nothing},
	{"lost_popped", nullptr, lose_popped, find_nothing},
	{"lost_callback", nullptr, lose_callback, find_nothing},
	{"lost_expired", nullptr, lose_expired, find_nothing},
	{"lost_exception", nullptr, lose_exception, find_nothing},
	{"lost_cleared", nullptr, lose_cleared, find_nothing},
	{"lost_overwritten", nullptr, lose_overwritten, find_nothing},
	{"lost_message", nullptr, lose_message, find_nothing},
	{"lost_thread", nullptr, lose_thread, find_nothing},
	{"lost_nowhere", nullptr, lose_nowhere, find_nothing},
	{nullptr, nullptr, nullptr, nullptr},
};
