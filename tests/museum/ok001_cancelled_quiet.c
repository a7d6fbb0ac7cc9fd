// SPDX-License-Identifier: MIT
// expect: clean
// expect: also CTP001 suspect
//
// As many workers as there were requests at once; those that were cancelled wait in the
// free list, linked through their own blocks, for a busier hour. None was taken from
// there so far, and the server is quiet: all it has are sockets within itself.
#include "cancelled_workers.h"

int main(void)
{
	serve_and_cancel(0);
}
