// SPDX-License-Identifier: MIT
//
// ctp/coroutine.hpp - the full history of C++20 coroutines, by three lines in their promise type.
//
//	#include <ctp/coroutine.hpp>
//	struct promise_type : ctp::promise<promise_type> {                                                  // 1
//		auto initial_suspend() noexcept { return ctp_initial(std::suspend_always{}); }               // 2
//		auto final_suspend() noexcept { return ctp_final(std::suspend_always{}); }                   // 3
//		...
//	};
//
// Whatever the promise returned from the two functions goes into ctp_initial and ctp_final. A promise with an
// await_transform of its own returns ctp_await(what it returned) from it; one with a yield_value returns
// ctp_yield(what it returned).
//
// Nothing is to be linked, and nothing to be called at start: a program that runs under ctp-run finds libctp.so by a
// weak symbol; any other spends a few instructions at each co_await. (ctp lists and judges C++20 coroutines
// without this header, too: docs/stackless.md says what it adds.)
//
// An awaiter can say what it waits for:
//
//	ctp::wait ctp_wait() const noexcept { return {CTP_REASON_READ, fd}; }
//
// C++20, gcc 11 or clang 14 and later, x86_64 and aarch64.
#ifndef CTP_COROUTINE_HPP
#define CTP_COROUTINE_HPP

#include <ctp/coroutine.h>

#include <coroutine>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace ctp {

struct wait {
	ctp_reason reason = CTP_REASON_NONE;
	int fd = -1;
};

namespace detail {

#define CTP_INLINE_ inline __attribute__((always_inline))

// The frame that this thread has allocated last, and its size: the compiler tells nobody else.
struct allocated {
	void *at;
	std::size_t bytes;
};
inline constinit thread_local allocated last_allocated{nullptr, 0};

// Here: for who leaves to say where it did.
CTP_INLINE_ const void *here() noexcept
{
	const void *pc;
#if defined(__x86_64__)
	__asm__ volatile("leaq 1f(%%rip), %0\n1:" : "=r"(pc));
#elif defined(__aarch64__)
	__asm__ volatile("adr %0, 1f\n1:" : "=r"(pc));
#else
	pc = nullptr;
#endif
	return pc;
}

template <class A>
concept says_wait = requires(const std::remove_reference_t<A> &a) {
	{ a.ctp_wait() } -> std::convertible_to<wait>;
};

template <class A> CTP_INLINE_ std::uint64_t how_of(const A &a, ctp_reason otherwise) noexcept
{
	if constexpr (says_wait<A>) {
		wait w = a.ctp_wait();
		return ctp_coroutine_how_(w.reason, w.fd);
	} else {
		return ctp_coroutine_how_(otherwise, -1);
	}
}

// An awaiter that tells of what passes through it. The user's is kept as it came: a reference to what lives as
// long as the whole expression, or the value that operator co_await has made.
template <class A> struct awaiting {
	A awaiter;
	ctp_coroutine *of;
	const void *at;
	ctp_reason reason;
	bool left;

	CTP_INLINE_ bool await_ready() noexcept(noexcept(awaiter.await_ready()))
	{
		return static_cast<bool>(awaiter.await_ready());
	}

	// Told before the user's: behind that, another thread may have resumed it, or destroyed it.
	template <class P>
	CTP_INLINE_ auto await_suspend(std::coroutine_handle<P> h) noexcept(noexcept(awaiter.await_suspend(h)))
	{
		left = true;
		ctp_coroutine_tell_(of, CTP_COROUTINE_SUSPENDED, how_of(awaiter, reason), at);
		if constexpr (noexcept(awaiter.await_suspend(h))) {
			return awaiter.await_suspend(h);
		} else {
			try {
				return awaiter.await_suspend(h);
			} catch (...) {
				ctp_coroutine_tell_(of, CTP_COROUTINE_RESUMED, 0, nullptr);
				throw;
			}
		}
	}

	CTP_INLINE_ decltype(auto) await_resume() noexcept(noexcept(awaiter.await_resume()))
	{
		if (left)
			ctp_coroutine_tell_(of, CTP_COROUTINE_RESUMED, 0, nullptr);
		return awaiter.await_resume();
	}
};

// The one behind initial_suspend: even if it does not suspend, the coroutine begins to run here.
template <class A> struct beginning {
	A awaiter;
	ctp_coroutine *of;

	CTP_INLINE_ bool await_ready() noexcept(noexcept(awaiter.await_ready()))
	{
		return static_cast<bool>(awaiter.await_ready());
	}
	template <class P>
	CTP_INLINE_ auto await_suspend(std::coroutine_handle<P> h) noexcept(noexcept(awaiter.await_suspend(h)))
	{
		return awaiter.await_suspend(h);
	}
	CTP_INLINE_ decltype(auto) await_resume() noexcept(noexcept(awaiter.await_resume()))
	{
		ctp_coroutine_tell_(of, CTP_COROUTINE_RESUMED, 0, nullptr);
		return awaiter.await_resume();
	}
};

// The one behind final_suspend. Its coroutine has ended before the user's code resumes who awaits it. If it does not
// suspend, the promise's destructor comes next.
template <class A> struct ending {
	A awaiter;
	ctp_coroutine *of;

	CTP_INLINE_ bool await_ready() noexcept
	{
		ctp_coroutine_tell_(of, CTP_COROUTINE_ENDED, 0, nullptr);
		return static_cast<bool>(awaiter.await_ready());
	}
	template <class P> CTP_INLINE_ auto await_suspend(std::coroutine_handle<P> h) noexcept
	{
		return awaiter.await_suspend(h);
	}
	CTP_INLINE_ void await_resume() noexcept
	{
		awaiter.await_resume();
	}
};

template <class A>
concept has_member_await = requires(A &&a) { static_cast<A &&>(a).operator co_await(); };
template <class A>
concept has_free_await = requires(A &&a) { operator co_await(static_cast<A &&>(a)); };

template <class A> struct awaiter_of {
	using type = A &&;
};
template <has_member_await A> struct awaiter_of<A> {
	using type = decltype(std::declval<A>().operator co_await());
};
template <class A>
	requires(has_free_await<A> && !has_member_await<A>)
struct awaiter_of<A> {
	using type = decltype(operator co_await(std::declval<A>()));
};

template <class A> CTP_INLINE_ decltype(auto) awaiter(A &&a)
{
	if constexpr (has_member_await<A>)
		return static_cast<A &&>(a).operator co_await();
	else if constexpr (has_free_await<A>)
		return operator co_await(static_cast<A &&>(a));
	else
		return static_cast<A &&>(a);
}

struct traced {
}; // what the two functions below return derives from this

template <class A> struct first : beginning<A>, traced {
};
template <class A> struct last : ending<A>, traced {
};

} // namespace detail

template <class Derived> class promise {
public:
	CTP_INLINE_ promise() noexcept
	{
		if (__builtin_expect(ctp_coroutine_traced(), 0))
			ctp_made();
	}
	promise(const promise &) = delete;
	promise &operator=(const promise &) = delete;
	~promise()
	{
		ctp_coroutine_tell_(&ctp_self, CTP_COROUTINE_DESTROYED, 0, nullptr);
	}

	// As the compiler would do, and the size is kept for the constructor above.
	static void *operator new(std::size_t bytes)
	{
		return ctp_allocated(::operator new(bytes), bytes);
	}
	static void *operator new(std::size_t bytes, const std::nothrow_t &tag) noexcept
	{
		return ctp_allocated(::operator new(bytes, tag), bytes);
	}
	static void operator delete(void *at) noexcept
	{
		::operator delete(at);
	}

	template <class A> CTP_INLINE_ auto await_transform(A &&a)
	{
		return ctp_await(static_cast<A &&>(a));
	}

protected:
	template <class A> CTP_INLINE_ auto ctp_initial(A a)
	{
		return detail::first<A>{{static_cast<A &&>(a), &ctp_self}, {}};
	}
	template <class A> CTP_INLINE_ auto ctp_final(A a) noexcept
	{
		return detail::last<A>{{static_cast<A &&>(a), &ctp_self}, {}};
	}
	template <class A> CTP_INLINE_ auto ctp_await(A &&a)
	{
		static_assert(std::is_base_of_v<detail::traced, decltype(std::declval<Derived &>().initial_suspend())>,
			      "initial_suspend() of a ctp::promise returns ctp_initial(...)");
		static_assert(std::is_base_of_v<detail::traced, decltype(std::declval<Derived &>().final_suspend())>,
			      "final_suspend() of a ctp::promise returns ctp_final(...)");
		return detail::awaiting<typename detail::awaiter_of<A>::type>{
			detail::awaiter(static_cast<A &&>(a)), &ctp_self, detail::here(), CTP_REASON_NONE, false};
	}
	template <class A> CTP_INLINE_ auto ctp_yield(A a)
	{
		return detail::awaiting<A>{static_cast<A &&>(a), &ctp_self, detail::here(), CTP_REASON_YIELD, false};
	}

private:
	static void *ctp_allocated(void *at, std::size_t bytes) noexcept
	{
		if (__builtin_expect(ctp_coroutine_traced(), 0))
			detail::last_allocated = {at, bytes};
		return at;
	}

	// The frame begins with the addresses of two functions, behind which lies the promise.
	CTP_INLINE_ void ctp_made() noexcept
	{
		Derived &whole = static_cast<Derived &>(*this);
		void *frame = std::coroutine_handle<Derived>::from_promise(whole).address();
		auto begins = reinterpret_cast<std::uintptr_t>(frame);
		auto at = reinterpret_cast<std::uintptr_t>(std::addressof(whole));
		bool known = detail::last_allocated.at == frame;
		ctp_coroutine_made made = {*static_cast<void *const *>(frame), std::addressof(whole), sizeof(Derived)};
		ctp_self.memory = frame;
		ctp_self.bytes = known ? detail::last_allocated.bytes : at - begins + sizeof(Derived);
		ctp_coroutine_tell_(&ctp_self, CTP_COROUTINE_CREATED, 0, &made);
	}

	ctp_coroutine ctp_self{};
};

#undef CTP_INLINE_

} // namespace ctp

#endif
