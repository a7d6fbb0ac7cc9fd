// SPDX-License-Identifier: MIT
//
// A program in C that loads libraries with C++20 coroutines (tests/e2e/check_births.py). `open HOW LIBRARY`:
// once; HOW is "lazy" or "now". `again HOW LIBRARY OTHER`: one, which is closed, then the other. `filtered
// HOW LIBRARY`: with a filter of system calls that kills at what dlopen does not do.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *load(const char *path, int how, int n)
{
	void *library = dlopen(path, how | RTLD_LOCAL);
	const char *said = dlerror();
	if (!library || said) {
		printf("dlopen: %s\n", said);
		return NULL;
	}
	void (*make)(int) = (void (*)(int))dlsym(library, "plugin_make");
	make(n);
	return library;
}

static int filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_NONBLOCK, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	int how = argc > 3 && !strcmp(argv[2], "lazy") ? RTLD_LAZY : RTLD_NOW, made = 3;
	if (argc < 4)
		return 2;
	if (!strcmp(argv[1], "filtered") && filter()) {
		puts("no filter");
		return 0;
	}
	void *library = load(argv[3], how, made);
	if (!library)
		return 1;
	if (!strcmp(argv[1], "again")) {
		((void (*)(int))dlsym(library, "plugin_destroy"))(made);
		dlclose(library);
		if (!load(argv[4], how, made))
			return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
