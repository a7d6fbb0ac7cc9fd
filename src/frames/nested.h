// SPDX-License-Identifier: MIT
//
// nested.h - frames that lie in their caller's: which of them are certain to live?
#pragma once

#include "frames/stackless.h"

// Those that no continuation confirms may have ended.
void nested_judge(struct stackless_list *l);
