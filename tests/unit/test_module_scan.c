// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/coverage/module_scan.h"

// An object with these symbols and nothing else, as a file in memory.
struct symbol {
	const char *name;
	unsigned char bind, visibility;
	bool defined;
};

struct object {
	uint16_t type; // ET_DYN, ET_EXEC
	Elf64_Dyn tag; // in its dynamic section
	const struct symbol *dynamic, *all; // ended by a name of NULL
};

enum { S_NULL, S_DYNSTR, S_DYNSYM, S_STRTAB, S_SYMTAB, S_DYNAMIC, S_COUNT };

struct building {
	unsigned char bytes[8192];
	size_t used;
	Elf64_Shdr sections[S_COUNT];
};

static void add(struct building *b, unsigned at, unsigned type, const void *data, size_t bytes, unsigned link)
{
	assert_true(b->used + bytes < sizeof(b->bytes));
	memcpy(b->bytes + b->used, data, bytes);
	b->sections[at] = (Elf64_Shdr){ .sh_type = type, .sh_offset = b->used, .sh_size = bytes, .sh_link = link,
					.sh_entsize = type == SHT_DYNAMIC ? 16 : 24, .sh_addralign = 8 };
	b->used = (b->used + bytes + 7) & ~(size_t)7;
}

static void add_symbols(struct building *b, unsigned strings, unsigned type, const struct symbol *s)
{
	char text[1024] = "";
	Elf64_Sym symbols[16] = { 0 };
	size_t used = 1, n = 1;
	for (; s && s->name; s++, n++) {
		symbols[n] = (Elf64_Sym){ .st_name = (Elf64_Word)used, .st_info = ELF64_ST_INFO(s->bind, STT_FUNC),
					  .st_other = s->visibility, .st_shndx = s->defined ? 1 : SHN_UNDEF };
		memcpy(text + used, s->name, strlen(s->name) + 1);
		used += strlen(s->name) + 1;
	}
	add(b, strings, SHT_STRTAB, text, used, 0);
	add(b, strings + 1, type, symbols, n * sizeof(*symbols), strings);
}

static void build(struct building *b, const struct object *o)
{
	*b = (struct building){ .used = sizeof(Elf64_Ehdr) };
	Elf64_Dyn dynamic[] = { o->tag, { DT_NULL, { 0 } } };
	add_symbols(b, S_DYNSTR, SHT_DYNSYM, o->dynamic);
	add_symbols(b, S_STRTAB, SHT_SYMTAB, o->all);
	add(b, S_DYNAMIC, SHT_DYNAMIC, dynamic, sizeof(dynamic), S_DYNSTR);
	Elf64_Ehdr head = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			    .e_type = o->type, .e_machine = EM_X86_64, .e_version = EV_CURRENT, .e_shoff = b->used,
			    .e_ehsize = sizeof(head), .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = S_COUNT };
	memcpy(b->bytes, &head, sizeof(head));
	memcpy(b->bytes + b->used, b->sections, sizeof(b->sections));
	b->used += sizeof(b->sections);
}

static int file_of(const struct building *b)
{
	int fd = memfd_create("object", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, b->bytes, b->used), (ssize_t)b->used);
	return fd;
}

static struct switch_signatures look(const struct object *o)
{
	struct building b;
	struct switch_signatures g = { 0 };
	build(&b, o);
	int fd = file_of(&b);
	assert_int_equal(switch_signatures_read(&g, fd), 0);
	close(fd);
	return g;
}

static unsigned function(const char *name)
{
	for (unsigned i = 0; switch_signatures_function(i); i++)
		if (!strcmp(switch_signatures_function(i), name))
			return 1U << i;
	fail_msg("%s is no function that is looked for", name);
	return 0;
}

static unsigned runtime(const char *symbol)
{
	for (unsigned i = 0; switch_signatures_symbol(i); i++)
		if (!strcmp(switch_signatures_symbol(i), symbol))
			return 1U << i;
	fail_msg("%s is no runtime's", symbol);
	return 0;
}

static void equal(struct switch_signatures g, unsigned imports, unsigned copies, unsigned known)
{
	assert_int_equal(g.imports, imports);
	assert_int_equal(g.copies, copies);
	assert_int_equal(g.known, known);
}

#define PROGRAM { DT_DEBUG, { 0 } }
#define LIBRARY { DT_NULL, { 0 } }
#define IMPORT(name) { name, STB_GLOBAL, STV_DEFAULT, false }
#define EXPORT(name) { name, STB_GLOBAL, STV_DEFAULT, true }
#define HIDDEN(name) { name, STB_GLOBAL, STV_HIDDEN, true }
#define LOCAL(name) { name, STB_LOCAL, STV_DEFAULT, true }
#define LIST(...) (const struct symbol[]){ __VA_ARGS__, { 0 } }

static struct switch_signatures program(const struct symbol *dynamic, const struct symbol *all)
{
	return look(&(struct object){ ET_DYN, PROGRAM, dynamic, all });
}

static struct switch_signatures library(const struct symbol *dynamic, const struct symbol *all)
{
	return look(&(struct object){ ET_DYN, LIBRARY, dynamic, all });
}

static void test_imports(void **state)
{
	unsigned both = function("swapcontext") | function("ontop_fcontext");
	equal(program(LIST(IMPORT("read"), IMPORT("swapcontext"), IMPORT("ontop_fcontext")), NULL), both, 0, 0);
	equal(program(LIST(IMPORT("read"), IMPORT("longjmp")), NULL), 0, 0, 0);
	equal(program(NULL, LIST(IMPORT("swapcontext"))), 0, 0, 0); // a table for debuggers imports nothing
	equal(library(NULL, NULL), 0, 0, 0);
}

static void test_copies(void **state)
{
	unsigned jump = function("jump_fcontext");
	const struct symbol *exported = LIST(EXPORT("jump_fcontext"));
	const struct symbol *protected = LIST({ "jump_fcontext", STB_GLOBAL, STV_PROTECTED, true });
	// a library's own, for everybody: calls of it come to us first
	equal(library(exported, exported), 0, 0, 0);
	// for itself
	equal(library(NULL, LIST(HIDDEN("jump_fcontext"))), 0, jump, 0);
	equal(library(NULL, LIST(LOCAL("jump_fcontext"))), 0, jump, 0);
	equal(library(protected, NULL), 0, jump, 0);
	equal(look(&(struct object){ ET_DYN, { DT_SYMBOLIC, { 0 } }, exported, NULL }), 0, jump, 0);
	equal(look(&(struct object){ ET_DYN, { DT_FLAGS, { DF_SYMBOLIC } }, exported, NULL }), 0, jump, 0);
	// a program's own comes before all libraries
	equal(program(exported, NULL), 0, jump, 0);
	equal(program(NULL, exported), 0, jump, 0);
	equal(look(&(struct object){ ET_EXEC, LIBRARY, NULL, exported }), 0, jump, 0);
	equal(look(&(struct object){ ET_DYN, { DT_FLAGS_1, { DF_1_PIE } }, NULL, exported }), 0, jump, 0);
	// what only prepares switches nothing
	equal(program(NULL, LIST(EXPORT("make_fcontext"), EXPORT("getcontext"))), 0, 0, 0);
}

static void test_runtimes(void **state)
{
	unsigned php = runtime("zend_fiber_switch_context"), ruby = runtime("coroutine_transfer");
	equal(library(LIST(EXPORT("coroutine_transfer"), EXPORT("rb_fiber_new")), NULL), 0, 0, ruby);
	equal(program(NULL, LIST(LOCAL("runtime.kickoff"))), 0, 0, runtime("runtime.kickoff"));
	equal(program(LIST(IMPORT("coroutine_transfer")), NULL), 0, 0, 0); // who uses a runtime is none
	// without assembly it calls what we see
	equal(program(LIST(EXPORT("zend_fiber_switch_context")), NULL), 0, 0, php);
	equal(program(LIST(EXPORT("zend_fiber_switch_context"), IMPORT("swapcontext")), NULL), function("swapcontext"), 0, 0);
	equal(program(NULL, LIST(LOCAL("mill_resume"), EXPORT("_ZN4mill6resumeEv"))), 0, 0, runtime("mill_resume"));
	equal(library(LIST(EXPORT("_photon_switch_context"), EXPORT("_ZN6photon3runEv")), NULL), 0, 0,
	      runtime("_photon_switch_context"));
	// a name that goes on, and one that must not
	equal(program(LIST(EXPORT("*Fiber::swapcontext<Pointer>:Nil")), NULL), 0, 0, runtime("*Fiber::swapcontext<"));
	equal(program(LIST(EXPORT("co_switch_off")), NULL), 0, 0, 0);
}

// Stripped, a Go program still has this section.
static void test_section(void **state)
{
	struct building b;
	struct switch_signatures g = { 0 };
	build(&b, &(struct object){ ET_DYN, PROGRAM, LIST(IMPORT(".gopclntab")), NULL });
	Elf64_Shdr *sections = (Elf64_Shdr *)(b.bytes + b.used - sizeof(b.sections));
	((Elf64_Ehdr *)b.bytes)->e_shstrndx = S_DYNSTR; // there the name stands at 1
	int fd = file_of(&b);
	assert_int_equal(switch_signatures_read(&g, fd), 0);
	assert_int_equal(g.known, 0);
	close(fd);
	sections[S_DYNAMIC].sh_name = 1;
	fd = file_of(&b);
	assert_int_equal(switch_signatures_read(&g, fd), 0);
	assert_int_equal(g.known, runtime(".gopclntab"));
	close(fd);
}

// Whatever a file says, it is an error or an answer.
static void test_hostile(void **state)
{
	struct building good;
	struct switch_signatures g = { 9, 9, 9 };
	build(&good, &(struct object){ ET_DYN, PROGRAM, LIST(IMPORT("swapcontext")), LIST(LOCAL("jump_fcontext")) });
	for (size_t bytes = 0; bytes < good.used; bytes += 7) { // cut off
		struct building cut = good;
		cut.used = bytes;
		int fd = file_of(&cut);
		switch_signatures_read(&g, fd);
		close(fd);
	}
	srand(1);
	for (int i = 0; i < 3000; i++) { // damaged
		struct building bad = good;
		for (int k = 0; k < 4; k++)
			bad.bytes[SELFMAG + (size_t)rand() % (bad.used - SELFMAG)] = (unsigned char)rand();
		int fd = file_of(&bad);
		switch_signatures_read(&g, fd);
		close(fd);
	}
	struct building text = { .used = 200 };
	int fd = file_of(&text);
	assert_int_equal(switch_signatures_read(&g, fd), 1);
	close(fd);
}

// A table of a size that nobody would want to read.
static void test_huge(void **state)
{
	struct building b;
	struct switch_signatures g = { 0 };
	build(&b, &(struct object){ ET_DYN, PROGRAM, LIST(IMPORT("swapcontext")), LIST(LOCAL("jump_fcontext")) });
	Elf64_Shdr *sections = (Elf64_Shdr *)(b.bytes + b.used - sizeof(b.sections));
	sections[S_SYMTAB].sh_offset = 8192;
	sections[S_SYMTAB].sh_size = 24 << 22; // zeros, were they read
	int fd = file_of(&b);
	assert_int_equal(ftruncate(fd, (24 << 22) + 8192), 0);
	assert_true(switch_signatures_read(&g, fd) < 0);
	assert_int_equal(g.imports, function("swapcontext")); // what could be read counts
	close(fd);
}

static void test_ourselves(void **state)
{
	struct module_scan s = { 0 };
	char text[1024];
	module_scan_find(&s, getpid(), NULL);
	size_t n = s.n;
	assert_true(n > 2); // we, libc, the loader
	module_scan_find(&s, getpid(), NULL);
	assert_int_equal(s.n, n);
	while (module_scan_read(&s))
		;
	assert_int_equal(s.read, n);
	assert_int_equal(s.unread, 0);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(s.v[i].fd, -1);
		assert_false(module_scan_hidden(&s, i, text, sizeof(text)));
	}
	module_scan_text(&s, text, sizeof(text));
	assert_non_null(strstr(text, "looked for swapcontext, setcontext"));
	module_scan_hidden_all(&s, text, sizeof(text));
	assert_string_equal(text, "");
	module_scan_deinit(&s);
	assert_int_equal(s.n, 0);
	module_scan_deinit(&s);
}

static const struct module_scan_object *object(const struct module_scan *s, const char *path)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strncmp(s->v[i].path, path, strlen(path)))
			return &s->v[i];
	fail_msg("%s is not among the objects", path);
	return NULL;
}

// 0: what is mapped was opened; 1: nothing was; 2: what stands in its place was.
static int look_at(const char *path)
{
	struct module_scan s = { 0 };
	module_scan_find(&s, getpid(), NULL);
	while (module_scan_read(&s))
		;
	unsigned copies = object(&s, path)->signatures.copies;
	int answer = copies == function("jump_fcontext") ? 0 : copies ? 2 : s.unread ? 1 : 2;
	module_scan_deinit(&s);
	return answer;
}

// The mapped file has gone; another has the name by which the kernel calls it now.
static void test_gone(void **state)
{
	char path[] = "/tmp/ctp-switchers-XXXXXX", gone[64];
	struct building b;
	int status = 0, fd = mkstemp(path);
	build(&b, &(struct object){ ET_DYN, LIBRARY, NULL, LIST(LOCAL("jump_fcontext")) });
	assert_true(fd >= 0);
	assert_int_equal(write(fd, b.bytes, b.used), (ssize_t)b.used);
	close(fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	int there = at == MAP_FAILED ? 0 : look_at(path);
	unlink(path);
	close(fd);
	if (at == MAP_FAILED)
		skip(); // /tmp is mounted noexec
	snprintf(gone, sizeof(gone), "%s (deleted)", path);
	build(&b, &(struct object){ ET_EXEC, LIBRARY, NULL, LIST(LOCAL("swapcontext")) });
	fd = open(gone, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	ssize_t n = write(fd, b.bytes, b.used);
	close(fd);
	pid_t child = fork();
	if (child == 0) { // without the right to open the mapping itself
		if (!getuid() && (setgid(65534) || setuid(65534)))
			_exit(9);
		prctl(PR_SET_DUMPABLE, 1);
		_exit(look_at(path));
	}
	waitpid(child, &status, 0);
	unlink(gone);
	munmap(at, 4096);
	assert_int_equal(n, (ssize_t)b.used);
	assert_int_equal(there, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
}

// However long the names are, a sentence has an end.
static void test_bounded(void **state)
{
	struct module_scan s = { 0 };
	char *name = malloc(4001), text[1024], small[16];
	assert_non_null(name);
	memset(name, 'x', 4000);
	name[0] = '/';
	name[4000] = '\0';
	s.n = s.capacity = s.read = 10;
	s.v = calloc(s.n, sizeof(*s.v));
	assert_non_null(s.v);
	for (size_t i = 0; i < s.n; i++) {
		s.v[i] = (struct module_scan_object){ .fd = -1, .path = strdup(name), .signatures = { 127, 127, 3 } };
		assert_non_null(s.v[i].path);
	}
	module_scan_text(&s, text, sizeof(text));
	assert_non_null(strstr(text, "7 more files"));
	assert_true(strlen(text) < 900);
	module_scan_hidden_all(&s, text, sizeof(text));
	assert_non_null(strstr(text, "7 more files"));
	module_scan_hidden(&s, 0, text, sizeof(text));
	assert_true(strlen(text) < 900);
	module_scan_text(&s, small, sizeof(small));
	assert_int_equal(strlen(small), sizeof(small) - 1);
	module_scan_deinit(&s);
	free(name);
}

// What is looked for is what is interposed: the rows of hooks.def whose bodies switch.
static void test_hooks(void **state)
{
	FILE *f = fopen(HOOKS_DEF, "r");
	char line[256], name[64];
	bool ours = false;
	unsigned rows = 0, all = 0;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "// ", 3))
			ours = strstr(line, "hook_context.c") || strstr(line, "hook_fcontext.c");
		if (ours && (sscanf(line, "HOOK(%63[^)])", name) == 1 || sscanf(line, "MAYBE(%63[^)])", name) == 1))
			rows |= function(name);
	}
	fclose(f);
	for (unsigned i = 0; switch_signatures_function(i); i++)
		all |= 1U << i;
	assert_int_equal(rows, all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_imports), cmocka_unit_test(test_copies), cmocka_unit_test(test_runtimes),
		cmocka_unit_test(test_section), cmocka_unit_test(test_hostile), cmocka_unit_test(test_huge), cmocka_unit_test(test_ourselves),
		cmocka_unit_test(test_gone), cmocka_unit_test(test_bounded), cmocka_unit_test(test_hooks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
