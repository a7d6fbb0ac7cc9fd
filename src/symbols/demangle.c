// SPDX-License-Identifier: MIT
//
// Calls the C++ runtime's demangler, which knows what this compiler mangles. It is
// declared here because its header is C++.
#include "symbols/demangle.h"

#include <stdlib.h>
#include <string.h>

char *__cxa_demangle(const char *name, char *buf, size_t *n, int *status);

char *demangle(const char *name)
{
	int status = 0;
	char *plain = NULL;
	if (name[0] == '_' && name[1] == 'Z')
		plain = __cxa_demangle(name, NULL, NULL, &status);
	return plain ? plain : strdup(name);
}
