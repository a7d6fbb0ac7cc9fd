// SPDX-License-Identifier: MIT
//
// conform_boost.cpp - what Boost.Context documents, and C++ exceptions in
// coroutines of both engines. Without an argument all that goes on: "ok NAME" a
// line; with one, a way to end the program.
#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>

#include <cerrno>
#include <cfenv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <execinfo.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

namespace ctx = boost::context;
using ctx::detail::fcontext_t;
using ctx::detail::jump_fcontext;
using ctx::detail::make_fcontext;
using ctx::detail::ontop_fcontext;
using ctx::detail::transfer_t;
#define NOINLINE __attribute__((noinline))

static const char *now = "";
static void check_at(bool holds, const char *what, int line)
{
	if (holds)
		return;
	std::fprintf(stderr, "conform_boost.cpp:%d: %s: not so: %s\n", line, now, what);
	std::_Exit(98);
}
#define check(condition) check_at(condition, #condition, __LINE__)

enum { STACK = 128 << 10 };
static void *top()
{
	void *p = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(p != MAP_FAILED);
	return (char *)p + STACK;
}

// ---- data goes both ways, and what a function on top returns replaces it

static void echo(transfer_t t)
{
	for (;;)
		t = jump_fcontext(t.fctx, (char *)t.data + 1);
}

static void data()
{
	static const uintptr_t words[] = {0, 1, ~0UL, 0x8000000000000000UL, 0x7fffffffffffUL};
	fcontext_t at = make_fcontext(top(), STACK, echo);
	check(at);
	for (int k = 0; k < 1000; k++)
		for (uintptr_t w : words) {
			transfer_t t = jump_fcontext(at, (void *)w);
			check(t.fctx && (uintptr_t)t.data == w + 1);
			at = t.fctx;
		}
}

static char *met; // the top of the stack of the one resumed
static transfer_t replace(transfer_t t)
{
	char here;
	check(&here < met && &here > met - STACK);
	return {t.fctx, (char *)t.data + 40};
}

static void ontop()
{
	met = (char *)top();
	fcontext_t at = make_fcontext(met, STACK, echo);
	at = jump_fcontext(at, NULL).fctx;
	for (uintptr_t k = 0; k < 1000; k++) {
		transfer_t t = ontop_fcontext(at, (void *)k, replace);
		check((uintptr_t)t.data == k + 41);
		at = t.fctx;
	}
}

// What such a function returns is what the resumed one's jump returns, both words.
static transfer_t both_words(transfer_t t)
{
	*(fcontext_t *)t.data = t.fctx;
	return {(fcontext_t)0x1234, (void *)0x5678};
}

static fcontext_t kept;
static void sees_both(transfer_t t)
{
	for (;;) {
		t = jump_fcontext(t.fctx, NULL);
		check(t.fctx == (fcontext_t)0x1234 && t.data == (void *)0x5678);
		t.fctx = kept;
	}
}

static void ontop_words()
{
	fcontext_t at = make_fcontext(top(), STACK, sees_both);
	at = jump_fcontext(at, NULL).fctx;
	for (int k = 0; k < 100; k++)
		at = ontop_fcontext(at, &kept, both_words).fctx;
}

// ---- registers, the floating-point control words, errno

static unsigned control_words()
{
#ifdef __x86_64__
	unsigned short x87;
	__asm__ volatile("fnstcw %0" : "=m"(x87));
	return (__builtin_ia32_stmxcsr() & ~0x3fu) << 16 | x87;
#else
	return (unsigned)std::fegetround();
#endif
}

static void rounds(transfer_t t)
{
	std::fesetround(FE_DOWNWARD);
	unsigned mine = control_words();
	for (;;) {
		t = jump_fcontext(t.fctx, NULL);
		check(std::fegetround() == FE_DOWNWARD && control_words() == mine);
	}
}

static void rounding()
{
	fcontext_t at = make_fcontext(top(), STACK, rounds);
	std::fesetround(FE_UPWARD);
	unsigned mine = control_words();
	for (int k = 0; k < 1000; k++) {
		at = jump_fcontext(at, NULL).fctx;
		check(std::fegetround() == FE_UPWARD && control_words() == mine);
	}
	std::fesetround(FE_TONEAREST);
}

static void counts_down(transfer_t t)
{
	for (long a = 1, b = 2, c = 3, d = 4, e = 5, k = 0;; k++) {
		check(a == 1 - k && b == 2 - 2 * k && c == 3 - 3 * k && d == 4 - 4 * k && e == 5 - 5 * k);
		a--, b -= 2, c -= 3, d -= 4, e -= 5;
		check(errno == 10);
		errno = 11;
		t = jump_fcontext(t.fctx, NULL);
	}
}

static void registers()
{
	fcontext_t at = make_fcontext(top(), STACK, counts_down);
	for (long a = 1, b = 2, c = 3, d = 4, e = 5, k = 0; k < 20000; k++) {
		check(a == 1 + k && b == 2 + 2 * k && c == 3 + 3 * k && d == 4 + 4 * k && e == 5 + 5 * k);
		a++, b += 2, c += 3, d += 4, e += 5;
		errno = 10;
		at = jump_fcontext(at, NULL).fctx;
		check(errno == 11);
	}
}

// ---- exceptions

static NOINLINE void thrown(int depth)
{
	if (depth == 0)
		throw std::runtime_error("deep");
	thrown(depth - 1);
	check(false);
}

static NOINLINE int caught()
{
	int n = 0;
	for (int i = 0; i < 10; i++)
		try {
			thrown(i);
		} catch (const std::runtime_error &e) {
			n += !std::strcmp(e.what(), "deep");
		}
	return n;
}

static ucontext_t home, one;
static void catches_uc()
{
	for (;;) {
		check(caught() == 10);
		swapcontext(&one, &home);
	}
}

static void context(void (*fn)(), ucontext_t *link)
{
	getcontext(&one);
	one.uc_stack.ss_sp = (char *)top() - STACK;
	one.uc_stack.ss_size = STACK;
	one.uc_link = link;
	makecontext(&one, fn, 0);
}

static void exceptions_uc()
{
	context(catches_uc, NULL);
	for (int i = 0; i < 50; i++)
		swapcontext(&home, &one);
}

static void catches_fc(transfer_t t)
{
	for (;;) {
		check(caught() == 10);
		t = jump_fcontext(t.fctx, NULL);
	}
}

static void exceptions_fc()
{
	fcontext_t at = make_fcontext(top(), STACK, catches_fc);
	for (int i = 0; i < 50; i++)
		at = jump_fcontext(at, NULL).fctx;
}

// Thrown by a function on top: comes out of the resumed one's resume.
static void thrown_ontop()
{
	int came = 0;
	ctx::fiber f{[&](ctx::fiber &&back) {
		for (;;)
			try {
				back = std::move(back).resume();
			} catch (std::pair<int, ctx::fiber> &e) {
				came += e.first;
				back = std::move(e.second);
			}
		return std::move(back);
	}};
	f = std::move(f).resume();
	for (int i = 1; i <= 20; i++)
		f = std::move(f).resume_with([i](ctx::fiber &&back) -> ctx::fiber {
			throw std::pair<int, ctx::fiber>(i, std::move(back));
		});
	check(came == 210);
}

// A fiber's destruction unwinds its stack: every frame, inner first.
static std::string order;
struct mark {
	char c;
	~mark() { order += c; }
};

static NOINLINE void marks(ctx::fiber &back, char c)
{
	mark m{c};
	if (c < 'e')
		marks(back, (char)(c + 1));
	else
		back = std::move(back).resume();
	check(false);
}

static void destroyed()
{
	for (int i = 0; i < 50; i++) {
		order.clear();
		{
			ctx::fiber f{std::allocator_arg, ctx::protected_fixedsize_stack(65536), [](ctx::fiber &&back) {
				marks(back, 'a');
				return std::move(back);
			}};
			f = std::move(f).resume();
			check(order.empty());
		}
		check(order == "edcba");
	}
}

// ---- walks end cleanly, and show all of ours

static int frames()
{
	void *pcs[64];
	Dl_info at, us;
	int n = backtrace(pcs, 64), count = 0;
	check(n < 64 && dladdr((void *)frames, &us));
	for (int i = 0; i < n; i++)
		count += dladdr(pcs[i], &at) && at.dli_fbase == us.dli_fbase;
	return count;
}

static NOINLINE int walk_at(int depth)
{
	int n = depth > 0 ? walk_at(depth - 1) : frames();
	__asm__ volatile("" : "+r"(n));
	return n;
}

static void walker(transfer_t t)
{
	for (;;)
		t = jump_fcontext(t.fctx, (void *)(intptr_t)walk_at(10));
}

static void walks()
{
	fcontext_t at = make_fcontext(top(), STACK, walker);
	for (int i = 0; i < 20; i++) {
		transfer_t t = jump_fcontext(at, NULL);
		check((intptr_t)t.data == 13); // walk_at's, frames', walker's
		at = t.fctx;
	}
}

// ---- a thread ends inside

static void *exits_in_uc(void *)
{
	static thread_local ucontext_t mine, other;
	mark m{'t'};
	getcontext(&other);
	other.uc_stack.ss_sp = (char *)top() - STACK;
	other.uc_stack.ss_size = STACK;
	other.uc_link = &mine;
	makecontext(&other, (void (*)())+[] {
		mark n{'c'};
		pthread_exit((void *)7);
	}, 0);
	swapcontext(&mine, &other);
	return NULL;
}

static void thread_exit()
{
	order.clear();
	for (int i = 0; i < 5; i++) {
		pthread_t t;
		void *r;
		check(pthread_create(&t, NULL, exits_in_uc, NULL) == 0 && pthread_join(t, &r) == 0);
		check(r == (void *)7);
	}
	std::printf("destroyed %s\n", order.c_str());
}

// ---- the ends

static void say_terminate()
{
	(void)!write(1, "terminate\n", 10);
	std::abort();
}

static void end_throw_uc()
{
	context((void (*)())+[] { thrown(3); }, &home);
	swapcontext(&home, &one);
}

static void end_throw_uc_no_link()
{
	std::set_terminate(say_terminate);
	context((void (*)())+[] { thrown(3); }, NULL);
	swapcontext(&home, &one);
}

static void end_throw_fc()
{
	std::set_terminate(say_terminate);
	jump_fcontext(make_fcontext(top(), STACK, +[](transfer_t) { thrown(3); }), NULL);
}

static void end_throw_fiber()
{
	ctx::fiber f{[](ctx::fiber &&back) {
		thrown(3);
		return std::move(back);
	}};
	f = std::move(f).resume();
}

// Whoever calls the function could catch it, but a coroutine's stack ends there.
static void end_throw_caught_outside()
{
	try {
		end_throw_uc();
	} catch (...) {
		(void)!write(1, "caught\n", 7);
	}
}

static void end_pthread_exit_fiber()
{
	pthread_t t;
	pthread_create(&t, NULL, [](void *) -> void * {
		ctx::fiber f{[](ctx::fiber &&back) {
			pthread_exit(NULL);
			return std::move(back);
		}};
		f = std::move(f).resume();
		return NULL;
	}, NULL);
	pthread_join(t, NULL);
	(void)!write(1, "joined\n", 7);
}

static void end_exit_fiber()
{
	static mark at_end{'x'};
	ctx::fiber f{[](ctx::fiber &&back) {
		std::atexit([] { (void)!write(1, "at exit\n", 8); });
		std::exit(43);
		return std::move(back);
	}};
	f = std::move(f).resume();
}

struct named {
	const char *name;
	void (*run)();
};

int main(int argc, char **argv)
{
	static const named all[] = {
		{"data", data}, {"ontop", ontop}, {"ontop_words", ontop_words}, {"rounding", rounding},
		{"registers", registers}, {"exceptions_uc", exceptions_uc}, {"exceptions_fc", exceptions_fc},
		{"thrown_ontop", thrown_ontop}, {"destroyed", destroyed}, {"walks", walks}, {"thread_exit", thread_exit}};
	static const named ends[] = {
		{"end_throw_uc", end_throw_uc}, {"end_throw_uc_no_link", end_throw_uc_no_link}, {"end_throw_fc", end_throw_fc},
		{"end_throw_fiber", end_throw_fiber}, {"end_throw_caught_outside", end_throw_caught_outside},
		{"end_pthread_exit_fiber", end_pthread_exit_fiber}, {"end_exit_fiber", end_exit_fiber}};
	for (auto &c : ends)
		if (argc > 1 && !std::strcmp(argv[1], c.name)) {
			c.run();
			return 0;
		}
	if (argc > 1)
		return 2;
	for (auto &c : all) {
		now = c.name;
		c.run();
		std::printf("ok %s\n", c.name);
		std::fflush(stdout);
	}
	return 0;
}
