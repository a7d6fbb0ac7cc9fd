// SPDX-License-Identifier: MIT
//
// count.c - a second opinion: a preload that counts how often control goes from
// one stack to another, and knows nothing of ctp. It stands behind libctp.so,
// so that both see the same run. The numbers lie in the file COUNT_FILE, which
// is mapped: they are there however the program ends. Only the first process
// counts. A longjmp, setcontext or swapcontext is a switch if the two stack
// pointers lie in different stacks of those that makecontext was given, or in
// none and far apart (TBB resumes one thread's own stack on another). The return
// through uc_link makes no call, and is not seen here.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { NEAR = 1 << 20 };

struct counts {
	uint64_t pid, switches, made, same;
};

static struct counts nowhere;
static struct counts *counts = &nowhere;
static struct {
	uintptr_t low, high;
} stacks[1 << 16];
static unsigned used;

static const char *const names[] = { "swapcontext", "setcontext", "jump_fcontext", "ontop_fcontext", "siglongjmp",
				     "longjmp", "_longjmp", "__longjmp_chk", "makecontext", "make_fcontext" };
static void *real[sizeof(names) / sizeof(names[0])];

static void add(uint64_t *n)
{
	__atomic_fetch_add(n, 1, __ATOMIC_RELAXED);
}

// The newest stack that holds sp: a pool hands the same memory out again.
static unsigned stack_of(uintptr_t sp)
{
	unsigned i = __atomic_load_n(&used, __ATOMIC_ACQUIRE);
	while (i-- > 0)
		if (stacks[i].low <= sp && sp < stacks[i].high)
			return i + 1;
	return 0;
}

static int same_stack(uintptr_t a, uintptr_t b)
{
	unsigned stack = stack_of(a);
	return stack == stack_of(b) && (stack || (a > b ? a - b : b - a) < NEAR);
}

static void stack_add(uintptr_t low, size_t size)
{
	unsigned at = stack_of(low);
	if (at && stacks[at - 1].low == low && stacks[at - 1].high == low + size)
		return;
	at = __atomic_fetch_add(&used, 1, __ATOMIC_ACQ_REL);
	if (at >= sizeof(stacks) / sizeof(stacks[0]))
		abort();
	stacks[at].low = low;
	stacks[at].high = low + size;
}

// Where the call goes on.
static uintptr_t target_sp(unsigned function, const void *first, const void *second)
{
	if (function < 2) {
		const ucontext_t *u = function ? first : second;
		return u->uc_mcontext.gregs[REG_RSP];
	}
	uintptr_t sp = ((const uintptr_t *)first)[6];
	__asm__("rorq $17, %0\n\txorq %%fs:0x30, %0" : "+r"(sp));
	return sp;
}

__attribute__((used)) void *count_note(unsigned function, void *arg, uintptr_t sp, const void *second)
{
	if (function == 2 || function == 3) {
		add(&counts->switches);
	} else if (function < 8) {
		add(same_stack(target_sp(function, arg, second), sp) ? &counts->same : &counts->switches);
	} else {
		add(&counts->made);
		if (function == 8) {
			const ucontext_t *u = arg;
			stack_add((uintptr_t)u->uc_stack.ss_sp, u->uc_stack.ss_size);
		}
	}
	if (!real[function])
		real[function] = dlsym(RTLD_NEXT, names[function]);
	return real[function];
}

// Nothing of ours stays on the stack: the stub jumps to the real function.
#define STUB(number, name)                                                                                    \
	__asm__(".text\n.globl " name "\n.type " name ", @function\n" name ":\n"                              \
		"push %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\npush %rax\n"                 \
		"mov %rsi, %rcx\nmov %rdi, %rsi\nlea 56(%rsp), %rdx\nmov $" #number ", %edi\ncall count_note\nmov %rax, %r11\n" \
		"pop %rax\npop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\njmp *%r11\n"             \
		".size " name ", .-" name "\n")
STUB(0, "swapcontext");
STUB(1, "setcontext");
STUB(2, "jump_fcontext");
STUB(3, "ontop_fcontext");
STUB(4, "siglongjmp");
STUB(5, "longjmp");
STUB(6, "_longjmp");
STUB(7, "__longjmp_chk");
STUB(8, "makecontext");
STUB(9, "make_fcontext");

static void in_child(void)
{
	counts = &nowhere;
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("COUNT_FILE");
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	if (fd < 0)
		return;
	struct counts *file = MAP_FAILED;
	if (ftruncate(fd, sizeof(*file)) == 0)
		file = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (file == MAP_FAILED || (file->pid && file->pid != (uint64_t)getpid()))
		return;
	file->pid = getpid();
	counts = file;
	pthread_atfork(NULL, NULL, in_child);
}
