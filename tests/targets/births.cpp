// SPDX-License-Identifier: MIT
//
// C++20 coroutines that are made, destroyed and made again (tests/e2e/check_births.py). `churn N` counts what
// it makes and destroys. `reused` destroys one and makes another of a different function in its memory.
// `fails` asks for more memory than there is, and counts the frames of libctp.so between itself and where
// that is told. `ended N` ends N of each of three kinds. With OWN_NEW operator new and delete are the
// program's own; with NO_COROUTINES it has none.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <execinfo.h>
#include <new>
#include <unistd.h>

#ifdef OWN_NEW
static unsigned long news, deletes;
void *operator new(std::size_t n)
{
	news++;
	if (void *p = std::malloc(n))
		return p;
	throw std::bad_alloc();
}
void operator delete(void *p) noexcept
{
	deletes += p != nullptr;
	std::free(p);
}
void operator delete(void *p, std::size_t) noexcept
{
	deletes += p != nullptr;
	std::free(p);
}
#endif

static int ours;

static void no_memory()
{
	void *at[32];
	int n = backtrace(at, 32);
	Dl_info own, info;
	dladdr(at[0], &own);
	for (int i = 1; i < n && dladdr(at[i], &info) && info.dli_fbase != own.dli_fbase; i++)
		ours += std::strstr(info.dli_fname, "libctp.so") != nullptr;
	throw std::bad_alloc();
}

static int fails()
{
	std::set_new_handler(no_memory);
	try {
		::operator delete(::operator new(static_cast<std::size_t>(-1) / 4));
	} catch (const std::bad_alloc &) {
		std::printf("caught %d\n", ours);
	}
	return 0;
}

#ifndef NO_COROUTINES
#include <coroutine>

struct generator {
	struct promise_type {
		int value = 0;
		generator get_return_object()
		{
			return {std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		std::suspend_always initial_suspend() noexcept
		{
			return {};
		}
		std::suspend_always final_suspend() noexcept
		{
			return {};
		}
		std::suspend_always yield_value(int v)
		{
			value = v;
			return {};
		}
		void return_void() {}
		void unhandled_exception()
		{
			std::abort();
		}
	};
	std::coroutine_handle<promise_type> h;
};

static generator up(int n)
{
	for (int i = 0; i < n; i++)
		co_yield i;
}

static generator down(int n)
{
	while (n-- > 0)
		co_yield n;
}

static int churn(int n)
{
	long sum = 0;
	for (int i = 0; i < n; i++) {
		generator a = up(3), b = down(3);
		while (!a.h.done()) {
			a.h.resume();
			sum += a.h.promise().value;
		}
		b.h.resume(); // and it is destroyed where it stands
		sum += b.h.promise().value;
		a.h.destroy();
		b.h.destroy();
	}
#ifdef OWN_NEW
	std::printf("sum %ld, %lu made, %lu deleted\n", sum, news, deletes);
#else
	std::printf("sum %ld\n", sum);
#endif
	return 0;
}

// Three ways to end: `cancelled` is destroyed where it waits, `done` at its last suspension, `detached`
// deletes its frame itself.
template <class Final> struct ends {
	struct promise_type {
		ends get_return_object()
		{
			return {std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		std::suspend_never initial_suspend() noexcept
		{
			return {};
		}
		Final final_suspend() noexcept
		{
			return {};
		}
		void return_void() {}
		void unhandled_exception()
		{
			std::abort();
		}
	};
	std::coroutine_handle<promise_type> h;
};
using task = ends<std::suspend_always>;
using job = ends<std::suspend_never>;

static __attribute__((noinline)) task cancelled(int n)
{
	char text[64];
	std::snprintf(text, sizeof(text), "%d", n);
	co_await std::suspend_always{};
	std::puts(text);
}

static __attribute__((noinline)) task done(int n)
{
	char text[64];
	std::snprintf(text, sizeof(text), "%d", n);
	co_await std::suspend_always{};
	if (n < 0)
		std::puts(text);
}

static __attribute__((noinline)) job detached(int n)
{
	char text[64];
	std::snprintf(text, sizeof(text), "%d", n);
	co_await std::suspend_always{};
	if (n < 0)
		std::puts(text);
}

static std::coroutine_handle<> all[3000];

static __attribute__((noinline)) void make_all(int n)
{
	for (int i = 0; i < n; i++) {
		all[3 * i] = cancelled(i).h;
		all[3 * i + 1] = done(i).h;
		all[3 * i + 2] = detached(i).h;
	}
}

static __attribute__((noinline)) void cancel_all(int n)
{
	for (int i = 0; i < n; i++) {
		all[3 * i].destroy();
		all[3 * i + 1].resume();
		all[3 * i + 1].destroy();
		all[3 * i + 2].resume();
	}
}

static int ended(int n)
{
	make_all(n);
	cancel_all(n);
	return 0;
}

static std::coroutine_handle<> kept;

static __attribute__((noinline)) void make_first()
{
	kept = up(1).h;
}

static __attribute__((noinline)) void make_second()
{
	kept = down(1).h;
}

static int reused()
{
	make_first();
	void *was = kept.address();
	kept.destroy();
	make_second();
	std::puts(kept.address() == was ? "ready" : "elsewhere");
	std::fflush(stdout);
	for (;;)
		pause();
}
#endif

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	if (!std::strcmp(what, "fails"))
		return fails();
#ifndef NO_COROUTINES
	if (!std::strcmp(what, "churn"))
		return churn(std::atoi(argv[2]));
	if (!std::strcmp(what, "ended"))
		return ended(std::atoi(argv[2]));
	if (!std::strcmp(what, "reused"))
		return reused();
#endif
	return 2;
}
