// SPDX-License-Identifier: MIT
//
// Tests of symbols/name: names as they are shown.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "symbols/name.h"

static void names(void **state)
{
	static const char *const pairs[][2] = {
		{ "main", "main" },
		{ "std::vector<int, std::allocator<int> >::push_back", "std::vector<>::push_back" },
		{ "auto boost::asio::async_write<socket<tcp, f<g>>>", "boost::asio::async_write<>" },
		{ "std::enable_if<(a::b<c>::value), void>::type n::call<x>::run", "n::call<>::run" },
		{ "(anonymous namespace)::f", "(anonymous namespace)::f" },
		{ "void (anonymous namespace)::f<int>", "(anonymous namespace)::f<>" },
		{ "main()::<lambda(int)>::operator()", "main()::<lambda>::operator()" },
		{ "main::{lambda(int)#1}::operator()", "main::{lambda#1}::operator()" },
		{ "a::b<c>(d, void (&)(e<f>&))::{lambda(g&&)#2}::operator()", "a::b<>()::{lambda#2}::operator()" },
		{ "(", "(" },
		{ "operator(", "operator(" },
		{ "operator", "operator" },
		{ "f<int>::operator()<char>", "f<>::operator()<>" },
		{ "std::ostream& std::operator<< <char>", "std::operator<< <>" },
		{ "bool n::operator<=", "n::operator<=" },
		{ "n::p::operator->", "n::p::operator->" },
		{ "operator new[]", "operator new[]" },
		{ "s::operator std::string", "s::operator std::string" },
		{ "operators::f<int>", "operators::f<>" },
		{ "operator_of", "operator_of" },
		{ "f [clone .isra.0]", "f" },
		{ "a<b", "a<b" },
		{ "a>b", "a>b" },
		{ "decltype (f(x)) g<x>", "g<>" },
		{ "", "" },
	};
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		char name[128];
		strcpy(name, pairs[i][0]);
		name_shorten(name);
		assert_string_equal(name, pairs[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(names) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
