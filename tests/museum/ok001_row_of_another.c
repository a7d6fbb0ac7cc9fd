// SPDX-License-Identifier: MIT
// expect: clean
//
// Sources that have something for a sink ask for room by the sink's row, in the slice in which they read until
// EAGAIN. The sink closes its own descriptor when its peer has gone: they never waited for that.
#include "kicked.h"

int main(void)
{
	start_and_lose_sink();
	say("ready");
	for (;;)
		turn(-1, resume_reader);
}
