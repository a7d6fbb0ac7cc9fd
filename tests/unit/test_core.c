// SPDX-License-Identifier: MIT
//
// Core files: one that is good says what its tables said; one of which any word
// is another is refused or says less, and never brings the reader down.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/corefile.h"
#include "ctp/region.h"
#include "sanitized.h"
#include "trace/world.h"

enum { STATIONS = 2 };
#define BASE 0x7f0000000000ULL

// The file: ELF headers, the region's first page, the states.
static struct core {
	Elf64_Ehdr elf;
	Elf64_Phdr load[2];
	_Alignas(4096) union {
		struct ctp_header header;
		unsigned char page[CTP_HEADER_BYTES];
	} first;
	struct ctp_state states[STATIONS];
} core;

static char path[] = "/tmp/test_core.XXXXXX";
static struct world_error error;

static Elf64_Half own_machine(void)
{
	Elf64_Ehdr h = { 0 };
	int fd = open("/proc/self/exe", O_RDONLY);
	assert_int_equal(read(fd, &h, sizeof(h)), sizeof(h));
	close(fd);
	return h.e_machine;
}

static void make(void)
{
	struct ctp_header *h = &core.first.header;
	memset(&core, 0, sizeof(core));
	ctp_region_layout(h, STATIONS, 4096);
	h->magic = CTP_MAGIC;
	h->ext.magic = CTP_EXT_MAGIC;
	h->ext.region_base = BASE;
	h->ext.guest_pid = 4711;
	h->ext.clock_kind = CTP_CLOCK_MONOTONIC;
	h->allocated_count = STATIONS;
	for (unsigned i = 0; i < STATIONS; i++) {
		struct ctp_state *s = &core.states[i];
		*s = (struct ctp_state){ .owner = CTP_OWNER_GUEST, .id = 41 + i, .entity = CTP_COROUTINE,
					 .life = i ? CTP_CREATED : CTP_SUSPENDED, .station = i, .since = 1000 };
	}
	core.elf = (Elf64_Ehdr){ .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
				 .e_type = ET_CORE, .e_machine = own_machine(), .e_version = EV_CURRENT,
				 .e_phoff = offsetof(struct core, load), .e_ehsize = sizeof(Elf64_Ehdr),
				 .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2 };
	core.load[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R, .p_offset = offsetof(struct core, first), .p_vaddr = BASE,
				     .p_filesz = sizeof(core.first), .p_memsz = sizeof(core.first) };
	core.load[1] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R, .p_offset = offsetof(struct core, states),
				     .p_vaddr = BASE + h->ext.states_off, .p_filesz = sizeof(core.states),
				     .p_memsz = sizeof(core.states) };
}

// What it reads as, of so many bytes of it: 0 or what the reader says.
static int read_as(struct world *w, size_t bytes)
{
	int fd = open(path, O_WRONLY | O_TRUNC);
	assert_int_equal(write(fd, &core, bytes), bytes);
	close(fd);
	return world_open(w, path, 0, NULL, &error);
}

static void good(void **state)
{
	struct world w;
	(void)state;
	make();
	assert_int_equal(read_as(&w, sizeof(core)), 0);
	assert_int_equal(w.coroutines, 2);
	assert_int_equal(w.counts.suspended, 1);
	assert_int_equal(w.counts.created, 1);
	assert_int_equal(w.images[0].pid, 4711);
	world_close(&w);
}

static void cut_off(void **state)
{
	struct world w;
	(void)state;
	make();
	for (size_t bytes = offsetof(struct core, states) + sizeof(core.states) - 1; bytes > 8; bytes -= bytes > 700 ? 97 : 13)
		assert_int_not_equal(read_as(&w, bytes), 0);
}

// Each word of what says where things are, in turn, holds each of these.
static void other_words(void **state)
{
	static const uint64_t values[] = { 0, 1, 0xfff, 1ULL << 32, 1ULL << 41, UINT32_MAX, 0x8000000080000000, UINT64_MAX };
	const size_t parts[][2] = { { 0, offsetof(struct core, load) + sizeof(core.load) },
				    { offsetof(struct core, first), sizeof(struct ctp_header) },
				    { offsetof(struct core, states), sizeof(core.states) } };
	(void)state;
	for (size_t p = 0; p < sizeof(parts) / sizeof(*parts); p++)
		for (size_t at = 0; at + 8 <= parts[p][1]; at += 8)
			for (size_t v = 0; v < sizeof(values) / sizeof(*values); v++) {
				struct world w;
				make();
				memcpy((char *)&core + parts[p][0] + at, &values[v], 8);
				if (read_as(&w, sizeof(core)))
					continue;
				assert_true(w.coroutines <= STATIONS);
				world_close(&w);
			}
}

// What lies between two addresses that the file holds is passed over in one step, not page by page: a damaged
// header may say that a mapping has terabytes.
static void the_next_that_is_held(void **state)
{
	static struct corefile_part parts[] = { { 0x1000, 0x1000, 0 }, { 0x5000, 1ULL << 44, COREFILE_CUT }, { 1ULL << 45, 0x2000, 0x1000 } };
	const struct corefile c = { .parts = parts, .n = 3 };
	(void)state;
	assert_int_equal(corefile_next(&c, 0), 0x1000);
	assert_int_equal(corefile_next(&c, 0x1fff), 0x1fff);
	assert_int_equal(corefile_next(&c, 0x2000), 1ULL << 45);
	assert_int_equal(corefile_next(&c, 0x6000), 1ULL << 45); // said, but cut off
	assert_true(corefile_next(&c, (1ULL << 45) + 0x2000) == UINT64_MAX);
}

// A core whose file is nearly all hole takes as much memory as it has data. The first of the tests: the most that the process took stays.
static void hollow(void **state)
{
	enum { MOST_KB = 512 << 10 };
	const uint64_t claimed = 2ULL << 30;
	struct rusage use;
	struct world w;
	(void)state;
	make();
	core.load[1].p_filesz = core.load[1].p_memsz = claimed;
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_int_equal(write(fd, &core, sizeof(core)), sizeof(core));
	assert_int_equal(ftruncate(fd, (off_t)(offsetof(struct core, states) + claimed)), 0);
	bool holes = lseek(fd, sizeof(core) + (1 << 20), SEEK_DATA) < 0;
	close(fd);
	if (!holes) {
		print_message("files have no holes here\n");
		skip();
	}
	assert_int_equal(world_open(&w, path, 0, NULL, &error), 0);
	assert_int_equal(w.coroutines, 2);
	world_close(&w);
	assert_int_equal(getrusage(RUSAGE_SELF, &use), 0);
	assert_true(use.ru_maxrss < MOST_KB);
}

// Adds a segment of one note behind all else: of this type and name, with a head that says this size, less `cut` bytes at
// the file's end.
static void note_as(struct corefile *c, const char *name, unsigned type, size_t says, size_t cut)
{
	static unsigned char note[1024];
	const Elf64_Nhdr head = { 5, (Elf64_Word)says, type };
	struct elf_prstatus status = { .pr_pid = 99, .pr_cursig = SIGFPE };
	struct elf_prpsinfo process = { .pr_pid = 98, .pr_psargs = "./server -v  " };
	siginfo_t info = { .si_signo = SIGBUS };
	size_t bytes = sizeof(head) + 8 + says;
	make();
	memset(note, 0, sizeof(note));
	memcpy(note, &head, sizeof(head));
	memcpy(note + sizeof(head), name, strlen(name));
	memcpy(note + sizeof(head) + 8, type == NT_PRSTATUS ? (void *)&status : type == NT_PRPSINFO ? (void *)&process : (void *)&info,
	       type == NT_PRSTATUS ? sizeof(status) : type == NT_PRPSINFO ? sizeof(process) : sizeof(info));
	core.load[1] = (Elf64_Phdr){ .p_type = PT_NOTE, .p_offset = sizeof(core), .p_filesz = bytes, .p_align = 4 };
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_int_equal(write(fd, &core, sizeof(core)), sizeof(core));
	assert_int_equal(write(fd, note, bytes - cut), bytes - cut);
	close(fd);
	assert_int_equal(corefile_open(c, path), 0);
}

// A note counts if its kind, its name and its size are right, up to the file's last byte, and never beyond.
static void noted(void **state)
{
	static const struct { unsigned type; size_t bytes; } kinds[] = {
		{ NT_PRSTATUS, sizeof(struct elf_prstatus) }, { NT_PRPSINFO, sizeof(struct elf_prpsinfo) }, { NT_SIGINFO, sizeof(siginfo_t) },
	};
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct corefile c;
		note_as(&c, "CORE", kinds[i].type, kinds[i].bytes, 0);
		assert_int_equal(c.tid, i == 0 ? 99 : 0);
		assert_int_equal(c.signal, i == 0 ? SIGFPE : 0);
		assert_int_equal(c.pid, i == 1 ? 98 : 0);
		assert_string_equal(c.command, i == 1 ? "./server -v" : "");
		assert_int_equal(c.info.si_signo, i == 2 ? SIGBUS : 0);
		corefile_close(&c);
		for (unsigned way = 0; way < 4; way++) {
			note_as(&c, way == 0 ? "CORF" : "CORE", kinds[i].type, kinds[i].bytes + (way == 1 ? 4 : way == 2 ? -4UL : 0), way == 3);
			assert_true(!c.tid && !c.signal && !c.pid && !*c.command && !c.info.si_signo);
			corefile_close(&c);
		}
	}
}

static void other_layout(void **state)
{
	struct world w;
	(void)state;
	make();
	core.first.header.ext.version = CTP_EXT_VERSION + 1;
	assert_int_equal(read_as(&w, sizeof(core)), -EPROTO);
	assert_non_null(strstr(error.text, "by a newer ctp (layout"));
	core.first.header.ext.version = 1;
	assert_int_equal(read_as(&w, sizeof(core)), -EPROTO);
	assert_non_null(strstr(error.text, "by an older ctp (layout 1, "));
}

static int begin(void **state)
{
	int fd = mkstemp(path);
	(void)state;
	close(fd);
	return fd < 0;
}

static int end(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	if (not_under(SANITIZED_THREAD, "it has one thread, and takes long"))
		return SKIPPED_PROGRAM;
	const struct CMUnitTest tests[] = { cmocka_unit_test(hollow), cmocka_unit_test(good), cmocka_unit_test(cut_off), cmocka_unit_test(the_next_that_is_held), cmocka_unit_test(other_words),
					    cmocka_unit_test(other_layout), cmocka_unit_test(noted) };
	return cmocka_run_group_tests(tests, begin, end);
}
