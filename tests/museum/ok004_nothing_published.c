// SPDX-License-Identifier: MIT
// expect: CTP004 none..suspect, 2 coroutines
// end: timeout
//
// Subscribers were answered, and wait for what is published: nothing has been so far, so that nobody ever went on
// from there. It looks as if they waited for room.
#include "subscribers.h"

int main(void)
{
	subscribe_two();
	serve_on();
}
