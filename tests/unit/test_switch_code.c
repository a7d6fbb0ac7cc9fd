// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/coverage/switch_code.h"

enum { PIECE = 1 << 18, OFFSET = 0x1000, FIRST = 0x400000, CODE = 3 * PIECE };

// push %rbp, %rbx; mov %rsp, (%rdi); mov (%rsi), %rsp; pop %rbx, %rbp; ret
static const uint8_t body[] = {0x55, 0x53, 0x48, 0x89, 0x27, 0x48, 0x8b, 0x26, 0x5b, 0x5d, 0xc3};
// what functions do that move their own stack pointer: mov %rsp, %rbx; ...; mov %rbx, %rsp; and: mov %rsp, -8(%rbp); mov -8(%rbp), %rsp
static const uint8_t plain[] = {0x48, 0x89, 0xe3, 0x90, 0x48, 0x89, 0xdc, 0x5b, 0xc3,
				0x48, 0x89, 0x65, 0xf8, 0x48, 0x8b, 0x65, 0xf8, 0xc3};

struct file {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[2];
};

static struct file headers(void)
{
	struct file f = {.eh = {.e_machine = EM_X86_64, .e_phoff = offsetof(struct file, ph), .e_phnum = 2,
				.e_phentsize = sizeof(Elf64_Phdr)}};
	memcpy(f.eh.e_ident, ELFMAG, SELFMAG);
	f.eh.e_ident[EI_CLASS] = ELFCLASS64;
	f.ph[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = FIRST, .p_filesz = OFFSET};
	// as lld lays files out: addresses are not offsets
	f.ph[1] = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = OFFSET,
			       .p_vaddr = FIRST + 2 * OFFSET, .p_filesz = CODE};
	return f;
}

static int file_of(const struct file *f, const uint8_t *code)
{
	int fd = memfd_create("object", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, f, sizeof(*f), 0), sizeof(*f));
	assert_int_equal(pwrite(fd, code, CODE, OFFSET), CODE);
	return fd;
}

static size_t look(const struct file *f, const uint8_t *code, struct switch_code *out, size_t most)
{
	int fd = file_of(f, code);
	size_t n = switch_code_read(fd, out, most);
	close(fd);
	return n;
}

// At the file's begin and end, and at each place around the pieces in which it is read: once.
static void test_everywhere(void **state)
{
	struct file f = headers();
	struct switch_code out[4];
	uint8_t *code = calloc(1, CODE);
	assert_non_null(code);
	memcpy(code + 4000, plain, sizeof(plain));
	assert_int_equal(look(&f, code, out, 4), 0);
	for (int at = -14; at <= 14; at++) {
		size_t where = at == -14 ? 0 : at == 14 ? CODE - sizeof(body) : (size_t)(PIECE + at);
		memcpy(code + where, body, sizeof(body));
		assert_int_equal(look(&f, code, out, 4), 1);
		assert_int_equal(out[0].offset, OFFSET + where + 2);
		assert_int_equal(out[0].at, 2 * OFFSET + where + 2);
		memset(code + where, 0, sizeof(body));
	}
	for (size_t i = 0; i < 6; i++)
		memcpy(code + 100 * i, body, sizeof(body));
	assert_int_equal(look(&f, code, out, 4), 4);
	assert_int_equal(out[3].offset, OFFSET + 302);
	free(code);
	(void)state;
}

// A file may be anything.
static void test_hostile(void **state)
{
	struct switch_code out[4];
	uint8_t *code = calloc(1, CODE);
	assert_non_null(code);
	memcpy(code, body, sizeof(body));
	struct file arm = headers(), narrow = headers(), many = headers(), far = headers(), wide = headers(), data = headers();
	arm.eh.e_machine = EM_AARCH64;
	narrow.eh.e_ident[EI_CLASS] = ELFCLASS32;
	many.eh.e_phnum = 9999;
	far.eh.e_phoff = UINT64_MAX - 8;
	data.ph[1].p_flags = PF_R;
	assert_int_equal(look(&arm, code, out, 4), 0);
	assert_int_equal(look(&narrow, code, out, 4), 0);
	assert_int_equal(look(&many, code, out, 4), 0);
	assert_int_equal(look(&far, code, out, 4), 0);
	assert_int_equal(look(&data, code, out, 4), 0);
	wide.ph[1].p_filesz = UINT32_MAX - 1; // more than there is
	assert_int_equal(look(&wide, code, out, 4), 1);
	int fd = memfd_create("short", MFD_CLOEXEC);
	assert_int_equal(pwrite(fd, &wide, 20, 0), 20);
	assert_int_equal(switch_code_read(fd, out, 4), 0);
	close(fd);
	free(code);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everywhere),
		cmocka_unit_test(test_hostile),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
