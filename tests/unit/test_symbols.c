// SPDX-License-Identifier: MIT
//
// Tests of src/symbols, on the test program itself: a function and its line,
// an inlined frame, a function within one, a module that is not here, one of another build.
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "symbols/demangle.h"
#include "symbols/ehframe.h"
#include "symbols/frames.h"
#include "symbols/gate.h"
#include "symbols/source.h"
#include "symbols/suspension.h"

static uint64_t inner_pc;

static inline __attribute__((always_inline)) void inner(void)
{
	uint64_t pc;
	__asm__ volatile("lea 0(%%rip), %0" : "=r"(pc));
	inner_pc = pc;
}

static __attribute__((noinline)) void outer(void)
{
	inner();
	__asm__ volatile("" ::: "memory");
}

#ifndef __clang__
// The code of `nested` is told below the abstract copy of `around`, which has none itself: as a lambda's
// below the function that it stands in.
static uint64_t nested_pc;

static inline __attribute__((always_inline)) void around(void)
{
	__attribute__((noinline)) void nested(void)
	{
		inner();
		__asm__ volatile("nop" ::: "memory"); // else it is the same code as outer
	}
	nested();
}
#endif

static struct symbols_module self;
static char path[512];

static int find_self(struct dl_phdr_info *info, size_t size, void *arg)
{
	self = (struct symbols_module){ .path = path, .base = info->dlpi_addr, .start = 1,
					.end = UINT64_MAX };
	return 1;
}

static int setup(void **state)
{
	dl_iterate_phdr(find_self, NULL);
	outer();
#ifndef __clang__
	uint64_t outer_pc = inner_pc;
	around();
	nested_pc = inner_pc;
	inner_pc = outer_pc;
#endif
	return readlink("/proc/self/exe", path, sizeof(path) - 1) > 0 ? 0 : -1;
}

static void test_inlined(void **state)
{
	struct symbols *s;
	struct symbols_place p;
	assert_int_equal(symbols_new(&s, &self, 1, NULL), 0);
	assert_int_equal(symbols_find(s, inner_pc, true, &p), 0);
	assert_int_equal(p.n, 2);
	assert_string_equal(p.frames[0].symbol, "inner");
	assert_true(p.frames[0].inlined);
	assert_string_equal(p.frames[1].symbol, "outer");
	assert_false(p.frames[1].inlined);
	assert_non_null(strstr(p.frames[1].file, "test_symbols.c"));
	char *line = symbols_source_line(s, &p.frames[1]);
	assert_string_equal(line, "inner();");
	free(line);
	symbols_free(s);
}

static __attribute__((noinline)) void await_suspend(void)
{
	__asm__ volatile("nop" ::: "memory");
}

static struct suspension_place suspended(struct symbols *s, const struct suspension *c)
{
	struct suspension_place p;
	assert_int_equal(suspension_find(&p, s, c), 0);
	return p;
}

// `outer` as if it were a coroutine: the line is that of the call of await_suspend, wherever else it goes on.
static void test_suspension(void **state)
{
	struct symbols *s;
	await_suspend();
	assert_int_equal(symbols_new(&s, &self, 1, NULL), 0);
	struct suspension c = { .resume = (uintptr_t)outer, .store = inner_pc };
	struct suspension_place p = suspended(s, &c);
	assert_true(p.frame && p.exact && !p.initial);
	assert_string_equal(p.frame->symbol, "outer");
	int line = p.frame->line;
	c.merged = true; // what stores this state stores others, too
	p = suspended(s, &c);
	assert_true(p.frame && p.frame->line == line && !p.exact);
	c.landing = (uintptr_t)await_suspend; // other code, with another line
	c.store = 0;
	p = suspended(s, &c);
	assert_true(p.frame && p.frame->line != line && !p.exact);
	c.behind[0] = (struct suspension_step){ inner_pc, (uintptr_t)outer };
	c.nbehind = 1;
	p = suspended(s, &c);
	assert_true(p.frame && p.frame->line != line && !p.exact); // another function is called there
	c.behind[0].calls = (uintptr_t)await_suspend;
	p = suspended(s, &c);
	assert_true(p.frame && p.frame->line == line && p.exact);
	c.before[0] = c.behind[0]; // another function than await_ready
	c.nbefore = 1;
	c.nbehind = 0;
	p = suspended(s, &c);
	assert_true(p.frame && p.frame->line == line && !p.exact); // the branch alone
	symbols_free(s);
}

// A return address that is looked up as another one.
static void test_moved(void **state)
{
	struct symbols *s;
	struct symbols_place p;
	assert_int_equal(symbols_new(&s, &self, 1, NULL), 0);
	assert_int_equal(symbols_moved(s, (uintptr_t)await_suspend + 1, inner_pc, false), 0);
	assert_int_equal(symbols_find(s, (uintptr_t)await_suspend + 1, true, &p), 0);
	assert_string_equal(p.frames[p.n - 1].symbol, "outer");
	assert_int_equal(symbols_find(s, (uintptr_t)await_suspend + 1, false, &p), 0);
	assert_string_equal(p.frames[p.n - 1].symbol, "await_suspend");
	assert_true(symbols_near(s, (uintptr_t)await_suspend + 1));
	assert_false(symbols_near(s, inner_pc));
	symbols_free(s);
}

#ifndef __clang__
static void test_nested(void **state)
{
	struct symbols *s;
	struct symbols_place p;
	assert_int_equal(symbols_new(&s, &self, 1, NULL), 0);
	assert_int_equal(symbols_find(s, nested_pc, true, &p), 0);
	assert_int_equal(p.n, 2);
	assert_string_equal(p.frames[0].symbol, "inner");
	assert_true(p.frames[0].inlined);
	assert_string_equal(p.frames[1].symbol, "nested");
	char *line = symbols_source_line(s, &p.frames[1]);
	assert_string_equal(line, "inner();");
	free(line);
	symbols_free(s);
}
#endif

// As clang makes them: without .debug_aranges, so that the units say themselves what they have.
static void test_no_aranges(void **state)
{
	struct symbols *s;
	struct symbols_place p;
	char folder[] = "/tmp/test_symbols.XXXXXX", copy[64], command[700];
	assert_non_null(mkdtemp(folder));
	snprintf(copy, sizeof(copy), "%s/copy", folder);
	snprintf(command, sizeof(command), "objcopy --remove-section=.debug_aranges '%s' '%s'", path, copy);
	assert_int_equal(system(command), 0);
	struct symbols_module without = self;
	without.path = copy;
	assert_int_equal(symbols_new(&s, &without, 1, NULL), 0);
	assert_int_equal(symbols_find(s, inner_pc, true, &p), 0);
	assert_int_equal(p.n, 2);
	assert_string_equal(p.frames[0].symbol, "inner");
	assert_string_equal(p.frames[1].symbol, "outer");
	assert_non_null(strstr(p.frames[1].file, "test_symbols.c"));
	assert_true(p.frames[1].line > 0);
	symbols_free(s);
	assert_int_equal(unlink(copy) | rmdir(folder), 0);
}

static void test_unknown(void **state)
{
	struct symbols *s;
	struct symbols_place p;
	const struct symbols_module gone = { .path = "/nonexistent/libx.so", .base = 0x1000, .start = 0x1000,
					     .end = 0x2000 };
	assert_int_equal(symbols_new(&s, &gone, 1, NULL), 0);
	assert_int_equal(symbols_find(s, 0x1234, true, &p), 0);
	assert_int_equal(p.n, 1);
	assert_null(p.frames[0].symbol);
	assert_int_equal(p.frames[0].offset, 0x234);
	assert_string_equal(p.frames[0].module, "/nonexistent/libx.so");
	assert_int_equal(symbols_find(s, 0x9999, true, &p), 0);
	assert_null(p.frames[0].module);
	symbols_free(s);
}

static void test_other_build(void **state)
{
	struct symbols *s;
	struct symbols_place p;
	static const uint8_t id[20] = { 1, 2, 3 };
	struct symbols_module other = self;
	other.build_id = id;
	other.build_id_len = sizeof(id);
	assert_int_equal(symbols_new(&s, &other, 1, NULL), 0);
	assert_int_equal(symbols_find(s, inner_pc, true, &p), 0);
	assert_null(p.frames[0].symbol);
	assert_string_equal(symbols_mismatch(s, 0), path);
	assert_null(symbols_mismatch(s, 1));
	symbols_free(s);
}

// A frame of this program, as its debug information could name any file.
static char *line_of(struct symbols *s, const char *file, const char *folder)
{
	const struct symbols_frame f = { .module = path, .file = file, .dir = folder, .line = 2 };
	return symbols_source_line(s, &f);
}

static void need_line(struct symbols *s, const char *file, const char *want)
{
	char *line = line_of(s, file, "/tmp");
	if (want && !line)
		fail_msg("no line of %s", file);
	if (want)
		assert_string_equal(line, want);
	else
		assert_null(line);
	free(line);
}

static void put(const char *file, const char *text, size_t n)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, text, n), n);
	close(fd);
}

#define PUT(file, text) put(file, text, sizeof(text) - 1)

// Whatever an object file calls a source: a line is shown of what is one, and it steers no terminal.
static void test_source_line(void **state)
{
	struct symbols *s;
	struct symbols_place p;
	char folder[] = "/tmp/test_symbols.XXXXXX";
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	assert_int_equal(symbols_new(&s, &self, 1, NULL), 0);
	assert_int_equal(symbols_find(s, inner_pc, true, &p), 0);
	char names[9][64];
	static const char *const files[] = { "a.c", "secret", "link.c", "fifo.c", "zero.c", "folder.c", "nul.c", "same.c", "none.c" };
	for (size_t i = 0; i < 9; i++)
		snprintf(names[i], sizeof(names[i]), "%s/%s", folder, files[i]);
	PUT("a.c", "int a;\n\tint\tb = 1; \033[2J\302\233m \xff\nint c;\n");
	PUT("secret", "one\ntwo\n");
	PUT("nul.c", "one\ntw\0o\n");
	assert_int_equal(symlink("secret", "link.c") | symlink("/dev/zero", "zero.c") | symlink("a.c", "same.c"), 0);
	assert_int_equal(mkfifo("fifo.c", 0600) | mkdir("folder.c", 0700), 0);
	need_line(s, names[0], "int b = 1; ?[2J??m ?");
	need_line(s, names[7], "int b = 1; ?[2J??m ?");
	for (size_t i = 1; i < 9; i++)
		if (i != 7)
			need_line(s, names[i], NULL);
	need_line(s, "a.c", NULL);            // from wherever the reader happens to be
	assert_null(line_of(s, names[0], "/")); // nobody builds there
	assert_null(line_of(s, names[0], NULL));
	assert_int_equal(symbols_distrust(s, "/"), 0); // as if the object file had come with the trace
	need_line(s, names[0], NULL);
	symbols_free(s);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(remove(files[i]), 0);
	assert_int_equal(chdir("/") | rmdir(folder), 0);
}

// By whose word a reader sees whose file.
static void test_source_owners(void **state)
{
	enum { ROOT, READER = 1000, ANOTHER };
	const struct source_teller root = { true, ROOT }, own = { true, READER }, another = { true, ANOTHER }, nobody = { false, ROOT };
	assert_true(source_may_show(&root, READER, READER, 0600));
	assert_true(source_may_show(&own, READER, READER, 0600));
	assert_true(source_may_show(&own, READER, ANOTHER, 0640));
	assert_true(source_may_show(&another, READER, ANOTHER, 0600));
	assert_true(source_may_show(&another, READER, ROOT, 0644));
	assert_false(source_may_show(&another, READER, ROOT, 0640));
	assert_false(source_may_show(&another, READER, READER, 0644));
	assert_false(source_may_show(&another, ROOT, READER, 0644)); // nor by root, of whom it is no word
	assert_false(source_may_show(&another, ROOT, ROOT, 0600));
	assert_true(source_may_show(&another, ROOT, ANOTHER, 0600));
	assert_false(source_may_show(&nobody, ROOT, ROOT, 0644));
	assert_true(source_is_name("/usr/include/c++/12/vector"));
	assert_true(source_is_name("/p/x.rs"));
	assert_false(source_is_name("/home/me/.ssh/id_rsa"));
	assert_false(source_is_name("/home/me/p/.c"));
	assert_false(source_is_name("/p/x.c/passwd"));
}

// Files that libdw opens by itself: none but regular ones, and the gate is open for all others.
static void test_gate(void **state)
{
	char folder[] = "/tmp/test_symbols.XXXXXX", fifo[64], written[64];
	assert_non_null(mkdtemp(folder));
	snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
	snprintf(written, sizeof(written), "%s/written", folder);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	gate_close();
	assert_int_equal(open(fifo, O_RDONLY | O_CLOEXEC), -1);
	assert_int_equal(open("/dev/null", O_RDONLY | O_CLOEXEC), -1);
	assert_int_equal(open(written, O_WRONLY | O_CREAT | O_CLOEXEC, 0600), -1);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && !close(fd));
	gate_open();
	fd = open(written, O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
	struct stat st;
	assert_true(fd >= 0 && !fstat(fd, &st) && !close(fd));
	assert_int_equal(st.st_mode & 0700, 0600);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && !close(fd));
	assert_int_equal(unlink(written) | unlink(fifo) | rmdir(folder), 0);
}

// An object file that is none: looked up without waiting for it.
static void test_fifo_module(void **state)
{
	struct symbols *s;
	struct symbols_place p;
	char folder[] = "/tmp/test_symbols.XXXXXX", fifo[64];
	assert_non_null(mkdtemp(folder));
	snprintf(fifo, sizeof(fifo), "%s/lib.so", folder);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	const struct symbols_module m = { .path = fifo, .start = 0x1000, .end = 0x2000 };
	assert_int_equal(symbols_new(&s, &m, 1, NULL), 0);
	assert_int_equal(symbols_find(s, 0x1100, true, &p), 0);
	assert_null(p.frames[0].symbol);
	symbols_free(s);
	assert_int_equal(unlink(fifo) | rmdir(folder), 0);
}

static void test_demangle(void **state)
{
	char *name = demangle("_ZN3net4Conn4readEi");
	assert_string_equal(name, "net::Conn::read(int)");
	free(name);
	name = demangle("plain");
	assert_string_equal(name, "plain");
	free(name);
}

// How Boost 1.74 names them, by DWARF and demangled.
#define RECORD(f) "boost::context::detail::fiber_record<boost::context::fiber, boost::context::basic_fixedsize_stack<" \
	"boost::context::stack_traits>, " f "> >"
#define BLOCK(f) "boost::coroutines2::detail::pull_coroutine<int>::control_block::control_block<boost::context::" \
	"basic_fixedsize_stack<boost::context::stack_traits>, " f ">(boost::context::preallocated, " f "&&)::" \
	"{lambda(boost::context::fiber&&)#1}"

static void test_entry_name(void **state)
{
	static const struct { const char *symbol, *file, *own, *name; } all[] = {
		{ "fiber_entry<" RECORD("main()::<lambda(boost::context::fiber&&)>"), NULL, "operator()", "main()::<lambda>" },
		{ "fiber_entry<" RECORD("main()::<lambda(boost::context::fiber&&)>"), NULL, NULL, "main()::<lambda>" },
		{ "void fiber_entry<" RECORD("serve(int)::{lambda(int, long)#2}"), NULL, NULL, "serve()::{lambda#2}" },
		{ "void fiber_entry<" RECORD("net::Session<int, (char)40>"), NULL, NULL, "net::Session<>" },
		{ "void fiber_entry<" RECORD("Session"), NULL, "Session::operator()(fiber&&)", "Session::operator()" },
		{ "void fiber_entry<" RECORD("fiber (&)(fiber&&)"), NULL, NULL, "fiber_entry<>" },
		{ "void fiber_entry<" RECORD("fiber (&)(fiber&&)"), NULL, "plain(fiber&&)", "plain" },
		{ "void fiber_entry<" RECORD(BLOCK("main()::<lambda(push_type&)>")), NULL, "operator()", "main()::<lambda>" },
		{ "void fiber_entry<" RECORD(BLOCK("void (&)(push_type&)")), NULL, NULL, "fiber_entry<>" },
		{ "void fiber_entry<" RECORD("std::_Bind<void (int)>"), NULL, NULL, "fiber_entry<>" },
		{ "void fiber_entry<boost::fiber_record<a, b", NULL, NULL, "fiber_entry<>" },
		{ "fiber_entry<_record<>>>)", NULL, NULL, "fiber_entry<>" },
		{ "own_entry<" RECORD("Session"), "/home/me/x.cpp", NULL, "own_entry<>" },
		{ "entry(int)", "/home/me/x.cpp", "outer(int)", "outer" },
	};
	char buf[400];
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct symbols_frame f = { .symbol = (char *)all[i].symbol, .file = (char *)(all[i].file ? all[i].file :
					   "/usr/include/boost/context/fiber_fcontext.hpp") };
		struct symbols_frame own = { .symbol = (char *)all[i].own };
		assert_string_equal(frames_entry_name(&f, all[i].own ? &own : NULL, buf, sizeof(buf)), all[i].name);
	}
	assert_string_equal(frames_entry_name(NULL, NULL, buf, sizeof(buf)), "?");
}

static void test_place(void **state)
{
	static const struct { const char *file, *dir, *place; } all[] = {
		{ "/home/me/app/net/conn.c", "/home/me/app", "net/conn.c:7" },
		{ "/home/me/app/conn.c", NULL, "/home/me/app/conn.c:7" },
		{ "/home/me/sources/of/a/server/with/a/long/path/net/conn.c", "/elsewhere", "…/of/a/server/with/a/long/path/net/conn.c:7" },
		{ NULL, NULL, "" },
	};
	char buf[80];
	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct symbols_frame f = { .file = all[i].file, .dir = all[i].dir, .line = 7 };
		assert_string_equal(frames_place(&f, buf, sizeof(buf)), all[i].place);
	}
}

// Whom a trampoline runs: by a stack that ends in a switch, and by one that does not.
static void test_trampoline(void **state)
{
	const struct symbols_frame swap = { .symbol = "co_swap", .file = "/co.c" }, app = { .symbol = "reader", .file = "/app.c" },
				   body = { .symbol = "co_body", .file = "/co.c" }, enter = { .symbol = "co_enter", .file = "/co.c" },
				   drop = { .symbol = "drop", .file = "/app.c" },
				   libc = { .symbol = "start", .module = "/lib/libc.so.6" };
	const struct symbols_frame *at_switch[] = { &swap, &app, &body, &enter }, *at_close[] = { &drop, &app, &body, &enter, &libc },
				   *at_end[] = { &swap, &body, &enter };
	const struct frames a = { at_switch, 4, 4, true, 0 }, b = { at_close, 5, 5, true, 0 }, c = { at_end, 3, 3, true, 0 };
	(void)state;
	assert_ptr_equal(frames_task(&a, &enter), &app);
	assert_ptr_equal(frames_beyond(&b, &enter, &a, &app), &app);
	assert_null(frames_beyond(&c, &enter, &c, &app)); // that one shows no way
	assert_ptr_equal(frames_task(&a, &libc), &enter); // the outermost that is no library's
}

// Of those without names the unwind table says where they begin, and nothing of what is no code.
static void test_where_functions_begin(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t at = (uint64_t)(uintptr_t)outer - self.base, next = (uint64_t)(uintptr_t)test_trampoline - self.base;
	(void)state;
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	assert_non_null(elf);
	assert_int_equal(ehframe_function(elf, at), at);
	assert_int_equal(ehframe_function(elf, inner_pc - self.base), at);
	assert_int_equal(ehframe_function(elf, next + 1), next);
	assert_int_equal(ehframe_function(elf, 0), 0);
	assert_int_equal(ehframe_function(elf, UINT64_MAX), 0);
	elf_end(elf);
	close(fd);
	assert_int_equal(ehframe_function(NULL, at), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inlined),
		cmocka_unit_test(test_suspension),
		cmocka_unit_test(test_moved),
#ifndef __clang__
		cmocka_unit_test(test_nested),
#endif
		cmocka_unit_test(test_no_aranges), cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_other_build), cmocka_unit_test(test_demangle),
		cmocka_unit_test(test_entry_name), cmocka_unit_test(test_place), cmocka_unit_test(test_trampoline),
		cmocka_unit_test(test_where_functions_begin), cmocka_unit_test(test_source_line),
		cmocka_unit_test(test_source_owners), cmocka_unit_test(test_gate), cmocka_unit_test(test_fifo_module),
	};
	return cmocka_run_group_tests(tests, setup, NULL);
}
