// SPDX-License-Identifier: MIT
//
// manners_loaded.c - a program that needs a library which is up and about before
// main, and after it.
#include <stdio.h>

#include "co.h"

extern int early_ok, early_switches;

static void nothing(void *arg)
{
	(void)arg;
}

int main(void)
{
	co_start(nothing, NULL);
	printf("early %d of 8\nswitches %lu, before that %d\n", early_ok, co_switches, early_switches);
	return 0;
}
