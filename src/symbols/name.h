// SPDX-License-Identifier: MIT
//
// name.h - a function's name as reports, lists and graphs show it.
#pragma once

// Makes "auto std::f<int, g<char> >::h" (without parameters) "std::f<>::h", in place. Lambdas and operators
// keep what they are called.
void name_shorten(char *name);
