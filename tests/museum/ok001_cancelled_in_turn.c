// SPDX-License-Identifier: MIT
// expect: clean
// expect: also CTP001 suspect
//
// As ok001_cancelled_quiet, but the workers are cancelled one after the other, half a second apart: what is
// known of the first is decided when the last comes.
#include "cancelled_workers.h"

int main(void)
{
	serve_and_cancel(500);
}
