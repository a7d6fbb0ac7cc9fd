// SPDX-License-Identifier: MIT
//
// Runs each pair of loops once: off N.
#include <dlfcn.h>
#include <stdlib.h>

#define PLACE here
#include "events_off_library.c"

C_NAMES
void bare_library(long n);
void event_library(long n);
void other_file(void);

LOOP bare_header(long n)
{
	long i = 0;
	while (i < n) {
		KEEP(i);
		nothing_in_header(i);
		i++;
	}
}

LOOP event_header(long n)
{
	long i = 0;
	while (i < n) {
		KEEP(i);
		in_header(i);
		i++;
	}
}
C_NAMES_END

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1;
	bare_here(n);
	event_here(n);
	bare_header(n);
	event_header(n);
	bare_library(n);
	event_library(n);
	other_file();
	for (int times = 0; times < 2; times++) {
		void *opened = dlopen("./opened.so", RTLD_NOW);
		if (!opened)
			return 1;
		((void (*)(long))dlsym(opened, "bare_opened"))(n / 2);
		((void (*)(long))dlsym(opened, "event_opened"))(n / 2);
		dlclose(opened);
	}
	return 0;
}
