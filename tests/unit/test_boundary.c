// SPDX-License-Identifier: MIT
//
// What counts of a sleeper's registers: all of them where the program's text made the system
// call, none of the vector registers where libc did, or libctp, which the program called.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../targets/registers.h"
#include "engine/inspect/boundary.h"
#include "engine/target/regs.h"

enum { NAP_NS = 1000000, NAPS = 60000 };

static const uint64_t WORD = 0x00007abcdef01234;
static uint64_t disguised;

static void pause_inline(void)
{
	long r = SYS_pause;
	__asm__ volatile("syscall" : "+a"(r) : : "rcx", "r11", "memory");
}

static void pause_libc(void)
{
	pause();
}

// A child that sleeps in one of the two, with the word in a register of this kind, or in all.
static pid_t sleeper(enum registers kind, void (*sleeps)(void))
{
	pid_t pid = fork();
	if (!pid) {
		if (kind == REGISTERS_KINDS)
			registers_fill(&disguised);
		else
			registers_put(kind, &disguised);
		for (;;)
			sleeps();
	}
	struct proc_task t = {0};
	for (int i = 0; i < NAPS && !(proc_task_read(pid, pid, true, &t) && t.nr == SYS_pause && t.state == 'S'); i++)
		nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
	assert_int_equal(t.nr, SYS_pause);
	return pid;
}

static bool has_word(const void *bytes, size_t n)
{
	for (size_t i = 0; i + sizeof(WORD) <= n; i++)
		if (!memcmp((const char *)bytes + i, &WORD, sizeof(WORD)))
			return true;
	return false;
}

// Looks at it as the witness does. dead: nothing of its vector registers counts.
static void check(enum registers kind, void (*sleeps)(void), bool dead)
{
	struct ctp_ext ext = {0};
	struct ctp_region r = {.ext = &ext};
	struct inspection l = {.r = &r, .pid = sleeper(kind, sleeps)};
	struct proc_task t = {.tid = l.pid}, held;
	assert_int_equal(proc_maps_read(l.pid, &l.maps), 0);
	assert_true(regs_take(&t, true, UINT64_MAX));
	assert_true(proc_task_read(l.pid, l.pid, true, &held));
	t.nr = held.nr;
	t.sp = held.sp;
	t.pc = held.pc;
	assert_true(has_word(t.vectors, t.vector_bytes));
	assert_false(has_word(t.regs, sizeof(t.regs)));
	assert_int_equal(boundary_vectors_dead(&l, &t), dead);
	t.nr = PROC_NOT_IN_SYSCALL; // it waits for a page, or was about to run
	assert_false(boundary_vectors_dead(&l, &t));
	regs_release(&t);
	kill(l.pid, SIGKILL);
	assert_int_equal(waitpid(l.pid, NULL, 0), l.pid);
	free(t.vectors);
	proc_maps_deinit(&l.maps);
}

static void a_call_of_its_own(void **state)
{
	(void)state;
	for (int kind = 0; kind <= REGISTERS_KINDS; kind++)
		if (registers_have((enum registers)kind))
			check((enum registers)kind, pause_inline, false);
}

static void a_call_of_libc(void **state)
{
	(void)state;
	check(REGISTERS_KINDS, pause_libc, true);
}

// ---- whose text it is

static struct maps_line line(uint64_t lo, const char *perms, uint64_t ino, const char *path)
{
	struct maps_line m = {.lo = lo, .hi = lo + 0x1000, .ino = ino};
	memcpy(m.perms, perms, 4);
	m.path = path;
	return m;
}

static bool is_libc(const char *perms, uint64_t ino, const char *path)
{
	struct maps_line m = line(0x1000, perms, ino, path);
	struct proc_maps maps = {.v = &m, .n = 1};
	return boundary_in_libc(&maps, 0x1234);
}

static void libc_by_its_name(void **state)
{
	(void)state;
	assert_true(is_libc("r-xp", 7, "/usr/lib/x86_64-linux-gnu/libc.so.6"));
	assert_true(is_libc("r-xp", 7, "/lib/libc-2.31.so"));
	assert_true(is_libc("r-xp", 7, "/lib/libpthread-2.31.so"));
	assert_true(is_libc("r-xp", 7, "/usr/lib/libc.so.6 (deleted)"));
	assert_false(is_libc("r--p", 7, "/usr/lib/libc.so.6"));
	assert_false(is_libc("rwxp", 7, "/usr/lib/libc.so.6"));
	assert_false(is_libc("r-xs", 7, "/usr/lib/libc.so.6"));
	assert_false(is_libc("r-xp", 7, "/opt/libc.plugin.so"));
	assert_false(is_libc("r-xp", 7, "/opt/libc.so.60"));
	assert_false(is_libc("r-xp", 7, "/opt/libc-2.31.so.bak"));
	assert_false(is_libc("r-xp", 7, "/opt/libcrypto.so.3"));
	assert_false(is_libc("r-xp", 7, "/opt/program"));
	assert_false(is_libc("r-xp", 0, ""));
}

static void libctp_by_its_place(void **state)
{
	(void)state;
	struct ctp_ext ext = {.self_base = 0x1000, .self_end = 0x3000, .areas_base = 0x9000, .areas_bytes = 0x1000};
	struct ctp_region r = {.ext = &ext};
	struct maps_line v[] = {line(0x1000, "r-xp", 7, "/x/libctp.so"), line(0x2000, "rw-p", 7, "/x/libctp.so")};
	struct inspection l = {.r = &r, .maps = {.v = v, .n = 2}};
	struct proc_task t = {.nr = SYS_futex, .pc = 0x1800, .sp = 0x8000};
	assert_true(boundary_vectors_dead(&l, &t));
	t.sp = 0x9800; // a switch, whose arguments are kept for it
	assert_false(boundary_vectors_dead(&l, &t));
	t.sp = 0x8000;
	t.pc = 0x2800;
	assert_false(boundary_vectors_dead(&l, &t));
	t.pc = 0x3800;
	assert_false(boundary_vectors_dead(&l, &t));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_of_its_own),
		cmocka_unit_test(a_call_of_libc),
		cmocka_unit_test(libc_by_its_name),
		cmocka_unit_test(libctp_by_its_place),
	};
	disguised = WORD ^ REGISTERS_KEY;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
