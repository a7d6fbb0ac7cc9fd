// SPDX-License-Identifier: MIT
//
// The ids of the rules, and the way back to their numbers.
#include "ctp/rules.h"

#include <stdio.h>

#define ID(name, digits) [RULE_##name] = "CTP" #digits,
const char rules_id[RULES][RULES_ID_BYTES] = {RULES_EACH(ID)};

unsigned rules_number(const char *id)
{
	unsigned number;
	return id && sscanf(id, "CTP%3u", &number) == 1 ? number : RULE_NONE;
}
