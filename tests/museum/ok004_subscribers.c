// SPDX-License-Identifier: MIT
// expect: clean
// end: timeout
//
// Subscribers were answered, and wait for what is published, as they did before. Their connections have room, and
// are registered edge-triggered for that, too: they do not wait for it.
#include "subscribers.h"

int main(void)
{
	subscribe_two();
	ask(0, "publ");
	serve_on();
}
