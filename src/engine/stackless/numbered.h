// SPDX-License-Identifier: MIT
//
// numbered.h - handles that a program keeps under the number of a descriptor, which is its registration's
// data.
#pragma once

#include "engine/inspect/inspect.h"
#include "engine/stackless/closes.h"
#include "frames/stackless.h"

// The close of the number beside the word at `at`, which leads to the coroutine in this row; NULL: there is
// no number of a closed descriptor, or it is in use again.
const struct closes_one *numbered_close(const struct closes *closes, const struct inspection *l,
					const struct stackless *s, uint64_t at);
// The last close of a number that the coroutine's frame holds, and which was its registration's data. It may
// be another's, so it only tells of one to which nothing leads what it may have waited for.
const struct closes_one *numbered_end(const struct closes *closes, const struct inspection *l,
				      const struct stackless *s);
