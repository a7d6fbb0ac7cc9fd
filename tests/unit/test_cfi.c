// SPDX-License-Identifier: MIT
//
// The unwind tables of libctp.so, at every instruction: t-walked is stepped
// through all functions that must not gain a frame, and in each step inside the
// library libunwind must find the frame that called it, with the registers that
// it had. In the stubs between which a coroutine runs the walk must end.
// A signal is sent in the middle of hooks, so that shut gates are walked, too.
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <libunwind-ptrace.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "ctp/region.h"
#include "sanitized.h"

// Where trampoline.S begins and ends; what it exports must all be called by t-walked.
#define FIRST "getcontext"
#define LAST "cpu_on_private"
// Called in C, for a sample of that.
static const char *const in_c[] = {"read", "close", "dup"};
enum { IN_C = sizeof(in_c) / sizeof(*in_c), SAVED = 6, DEPTH = 32 };
static const int saved_regs[SAVED] = {UNW_X86_64_RBX, UNW_X86_64_RBP, UNW_X86_64_R12,
				      UNW_X86_64_R13, UNW_X86_64_R14, UNW_X86_64_R15};

// The library: its symbols as in the file, and where it lies in the process.
struct symbol {
	const char *name;
	uint64_t at, size;
	bool exported;
	unsigned calls;
};
static struct symbol *symbols;
static size_t n_symbols;
static uint64_t base, text_lo, text_hi, first, last;

// A call into the library that is under way.
struct call {
	uint64_t pc, cfa, regs[SAVED]; // where it will return to; pc 0: a stub, the walk ends
	const char *name;
};
static struct call calls[16];
static unsigned depth, steps, walks, wrong, injected;

static void read_symbols(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	char *file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(file != MAP_FAILED);
	close(fd);
	const Elf64_Ehdr *eh = (void *)file;
	const Elf64_Shdr *sh = (void *)(file + eh->e_shoff);
	for (int i = 0; i < eh->e_shnum; i++) {
		if (sh[i].sh_type != SHT_SYMTAB)
			continue;
		const Elf64_Sym *s = (void *)(file + sh[i].sh_offset);
		size_t n = sh[i].sh_size / sizeof(*s);
		symbols = calloc(n, sizeof(*symbols));
		const char *names = file + sh[sh[i].sh_link].sh_offset;
		for (size_t k = 0; k < n; k++) {
			if (ELF64_ST_TYPE(s[k].st_info) != STT_FUNC || !s[k].st_value)
				continue;
			bool exported = ELF64_ST_VISIBILITY(s[k].st_other) == STV_DEFAULT &&
					ELF64_ST_BIND(s[k].st_info) == STB_GLOBAL;
			symbols[n_symbols++] = (struct symbol){
				.name = names + s[k].st_name, .at = s[k].st_value, .size = s[k].st_size,
				.exported = exported};
		}
	}
	for (size_t i = 0; i < n_symbols; i++) {
		first = strcmp(symbols[i].name, FIRST) ? first : symbols[i].at;
		last = strcmp(symbols[i].name, LAST) ? last : symbols[i].at + symbols[i].size;
	}
	assert_true(first && first < last && last - first < 32768);
}

static struct symbol *symbol_at(uint64_t pc)
{
	for (size_t i = 0; i < n_symbols; i++)
		if (pc - base - symbols[i].at < symbols[i].size)
			return &symbols[i];
	return NULL;
}

static void find_library(pid_t pid)
{
	char path[64], line[512];
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		unsigned long lo, hi, off;
		char perms[5];
		if (!strstr(line, "libctp.so") || sscanf(line, "%lx-%lx %4s %lx", &lo, &hi, perms, &off) != 4)
			continue;
		if (!off)
			base = lo;
		if (perms[2] == 'x') {
			text_lo = lo;
			text_hi = hi;
		}
	}
	fclose(f);
	assert_true(base && text_lo);
}

static uint64_t word(pid_t tid, uint64_t at)
{
	return (uint64_t)ptrace(PTRACE_PEEKDATA, tid, (void *)at, NULL);
}

static bool same_call(unw_cursor_t *c, const struct call *want)
{
	unw_word_t sp, reg;
	unw_get_reg(c, UNW_REG_SP, &sp);
	for (int i = 0; i < SAVED; i++)
		if (unw_get_reg(c, saved_regs[i], &reg) || reg != want->regs[i])
			return false;
	return sp == want->cfa;
}

// Does the walk from here find the caller, or end, as it ought to?
static const char *walk(unw_addr_space_t as, void *upt, const struct call *want)
{
	unw_cursor_t c;
	unw_word_t pc = 0;
	if (unw_init_remote(&c, as, upt))
		return "no walk begins here";
	for (int i = 0; i < DEPTH; i++) {
		int r = unw_step(&c);
		if (r < 0)
			return "the walk breaks off";
		if (r == 0)
			return want->pc ? "the walk ends before the caller" : NULL;
		unw_get_reg(&c, UNW_REG_IP, &pc);
		if (want->pc && pc == want->pc)
			return same_call(&c, want) ? NULL : "other registers than the caller's";
		if (!want->pc && pc - text_lo >= text_hi - text_lo)
			return "the walk goes on behind the stub";
	}
	return "the caller is not found";
}

static void enters(pid_t tid, const struct user_regs_struct *r)
{
	struct symbol *s = symbol_at(r->rip);
	if (!s || s->at + base != r->rip)
		return;
	bool stub = !strcmp(s->name, "ctp_coroutine_begin") || !strcmp(s->name, "ctp_coroutine_returned");
	bool called = s->exported && s->at - first < last - first;
	for (int i = 0; i < IN_C; i++)
		called |= !strcmp(s->name, in_c[i]);
	if ((!called && !stub) || (depth && calls[depth - 1].cfa == r->rsp + 8))
		return; // a loop within, back to its first instruction
	assert_true(depth < sizeof(calls) / sizeof(*calls));
	s->calls++;
	calls[depth++] = (struct call){stub ? 0 : word(tid, r->rsp), r->rsp + 8,
				       {r->rbx, r->rbp, r->r12, r->r13, r->r14, r->r15}, s->name};
}

// Calls that have left the library: jumped on with the stack as it was, returned, or jumped over.
static void leaves(const struct user_regs_struct *r)
{
	while (depth) {
		const struct call *c = &calls[depth - 1];
		bool gone = r->rsp >= c->cfa - 8 && r->rsp - c->cfa + 8 < 1 << 20;
		if (!gone)
			return;
		depth--;
	}
}

// The library's C code is the compiler's affair: a sample of it will do.
static bool worth_a_walk(uint64_t pc)
{
	const struct symbol *s = symbol_at(pc);
	return s && (s->at - first < last - first || s->at + base == pc || steps % 64 == 0);
}

// Sends SIGUSR1 at the beginning of some C hooks: the gate is shut.
static int signal_here(uint64_t pc)
{
	static const char *const hooks[] = {"hook_swapcontext", "hook_longjmp", "hook_makecontext"};
	const struct symbol *s = symbol_at(pc);
	if (!s || s->at + base != pc || injected >= 8)
		return 0;
	for (size_t i = 0; i < sizeof(hooks) / sizeof(*hooks); i++)
		if (!strcmp(s->name, hooks[i])) {
			injected++;
			return SIGUSR1;
		}
	return 0;
}

// Steps `tid` from its breakpoint to the next. Its last state is a stop.
static void step_through(pid_t tid)
{
	unw_addr_space_t as = unw_create_addr_space(&_UPT_accessors, 0);
	void *upt = _UPT_create(tid);
	int sig = 0, status;
	unw_set_caching_policy(as, UNW_CACHE_GLOBAL);
	depth = 0;
	for (;;) {
		struct user_regs_struct r;
		assert_return_code(ptrace(PTRACE_SINGLESTEP, tid, NULL, (void *)(long)sig), errno);
		assert_int_equal(waitpid(tid, &status, __WALL), tid);
		assert_true(WIFSTOPPED(status));
		steps++;
		siginfo_t si;
		ptrace(PTRACE_GETSIGINFO, tid, NULL, &si);
		if (WSTOPSIG(status) == SIGTRAP && si.si_code <= 0) // raise()
			break;
		sig = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
		ptrace(PTRACE_GETREGS, tid, NULL, &r);
		if (r.rip - text_lo >= text_hi - text_lo) {
			leaves(&r);
			continue;
		}
		enters(tid, &r);
		if (!depth || !worth_a_walk(r.rip))
			continue;
		const char *why = walk(as, upt, &calls[depth - 1]);
		walks++;
		if (why && wrong++ < 20)
			print_message("%s+0x%lx in a call of %s: %s\n", symbol_at(r.rip)->name,
				      (unsigned long)(r.rip - base - symbol_at(r.rip)->at),
				      calls[depth - 1].name, why);
		if (!sig)
			sig = signal_here(r.rip);
	}
	_UPT_destroy(upt);
	unw_destroy_addr_space(as);
}

// A region in which nobody harvests, for the guest to find.
static int make_region(void)
{
	struct ctp_header h = {0};
	int fd = memfd_create("region", 0);
	ctp_region_layout(&h, 1000, CTP_RING_BYTES);
	h.ext.clock_kind = CTP_CLOCK_MONOTONIC;
	assert_return_code(ftruncate(fd, (off_t)h.ext.region_bytes), errno);
	assert_int_equal(pwrite(fd, &h, sizeof(h), 0), sizeof(h));
	return fd;
}

static pid_t start(void)
{
	char shm[64];
	snprintf(shm, sizeof(shm), "/proc/%d/fd/%d", getpid(), make_region());
	pid_t pid = fork();
	if (pid == 0) {
		setenv("LD_PRELOAD", CTP_LIBRARY, 1);
		setenv("CTP_SHM_PATH", shm, 1);
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(77);
		execl(WALKED, "t-walked", (char *)NULL);
		_exit(99);
	}
	return pid;
}

static void test_every_instruction(void **state)
{
	(void)state;
	int status, breaks = 0;
	alarm(600); // a stepped program that has lost its way never ends
	pid_t pid = start(), tid = pid;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("ptrace is not permitted here\n");
		skip();
	}
	read_symbols(CTP_LIBRARY);
	ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL));
	for (ptrace(PTRACE_CONT, pid, NULL, NULL);;) {
		tid = waitpid(-1, &status, __WALL);
		assert_true(tid > 0);
		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			if (tid == pid)
				break;
			continue;
		}
		int sig = WSTOPSIG(status);
		siginfo_t si;
		if (sig == SIGTRAP && ptrace(PTRACE_GETSIGINFO, tid, NULL, &si) == 0 && si.si_code <= 0 &&
		    si.si_pid) {
			find_library(pid);
			step_through(tid);
			breaks++;
		}
		ptrace(PTRACE_CONT, tid, NULL, (void *)(long)(sig == SIGTRAP || sig == SIGSTOP ? 0 : sig));
	}
	print_message("%u steps, %u walks, %u signals\n", steps, walks, injected);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(breaks, 2);
	assert_int_equal(injected, 8);
	for (size_t i = 0; i < n_symbols; i++)
		if (symbols[i].exported && symbols[i].at - first < last - first && !symbols[i].calls) {
			bool boost = strstr(symbols[i].name, "fcontext"); // may not be installed
			print_message("%s was never stepped through\n", symbols[i].name);
			assert_true(boost);
		}
	assert_true(walks > 500);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	if (not_under(SANITIZED, "libctp.so, whose code is stepped through, has no sanitizer in it"))
		return SKIPPED_PROGRAM;
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_instruction)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
