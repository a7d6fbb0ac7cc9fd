// SPDX-License-Identifier: MIT
#include "preload/guest/say.h"

#include <stddef.h>
#include <sys/syscall.h>

#include "cpu.h"

void say_untraced(const char *what, const char *why)
{
	const char *parts[] = {"ctp: ", what, why ? ": " : "", why ? why : "", "; the program runs untraced\n"};
	char line[512];
	size_t n = 0;
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		for (const char *p = parts[i]; *p && n < sizeof(line); p++)
			line[n++] = *p;
	cpu_syscall(SYS_write, 2, (long)line, (long)n, 0, 0, 0);
}
