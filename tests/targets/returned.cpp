// SPDX-License-Identifier: MIT
//
// returned.cpp - what Boost.Coroutine2 runs has returned, once it was resumed, to one that pushes and to one that
// pulls; both are kept. Another of each has not, and stands in a call that has come from the very same function.
#include <boost/coroutine2/coroutine.hpp>

#include <unistd.h>

#include <cstdio>

using work = boost::coroutines2::coroutine<int>;

int main()
{
	auto take = [](work::pull_type &from) { from(); };
	auto make = [](work::push_type &to) { to(1); };
	work::push_type over(take), stands(take);
	work::pull_type made(make), makes(make);
	over(1);
	over(2);
	stands(1);
	made();
	puts("ready");
	fflush(stdout);
	pause();
}
