// SPDX-License-Identifier: MIT
//
// Names of system calls from libseccomp, for the machine that this was built for: only such programs are
// traced.
#include "base/calls.h"

#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>

const char *calls_name(long nr, char *buf, size_t bytes)
{
	char *name = nr >= 0 && nr < 1 << 16 ? seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)nr) :
					       NULL;
	if (name)
		snprintf(buf, bytes, "%s", name);
	else
		snprintf(buf, bytes, "system call %ld", nr);
	free(name);
	return buf;
}
