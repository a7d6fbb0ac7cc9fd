// SPDX-License-Identifier: MIT
//
// Writes a small core file to stdout: the notes of a thread that died, a region with all of its tables begun.
#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/corefile.h"
#include "ctp/region.h"

enum { STATIONS = 4 };
#define BASE 0x7f0000000000ULL

struct noted {
	Elf64_Nhdr head;
	char name[8];
};

static struct {
	Elf64_Ehdr elf;
	Elf64_Phdr load[6];
	struct {
		struct noted status_head;
		struct elf_prstatus status;
		struct noted process_head;
		struct elf_prpsinfo process;
		struct noted info_head;
		siginfo_t info;
	} notes;
	_Alignas(4096) union {
		struct ctp_header header;
		unsigned char page[CTP_HEADER_BYTES];
	} first;
	struct ctp_state states[STATIONS];
	struct ctp_thread threads[2];
	struct ctp_fd fds[16];
	unsigned char stack[1024];
} core;

static Elf64_Half own_machine(void)
{
	Elf64_Ehdr h = { 0 };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, &h, sizeof(h));
	close(fd);
	return n == sizeof(h) ? h.e_machine : EM_NONE;
}

static void head(struct noted *n, unsigned type, size_t bytes)
{
	*n = (struct noted){ { 5, (Elf64_Word)bytes, type }, "CORE" };
}

static void load(unsigned i, const void *what, size_t bytes, uint64_t at)
{
	core.load[i] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R, .p_offset = (uint64_t)((const char *)what - (const char *)&core),
				     .p_vaddr = at, .p_filesz = bytes, .p_memsz = bytes };
}

static void fill_tables(struct ctp_header *h)
{
	h->magic = CTP_MAGIC;
	h->ext.magic = CTP_EXT_MAGIC;
	h->ext.region_base = BASE;
	h->ext.guest_pid = 4711;
	h->ext.clock_kind = CTP_CLOCK_MONOTONIC;
	h->ext.thread_high = 1;
	h->ext.next_id = STATIONS + 1;
	h->allocated_count = STATIONS;
	for (unsigned i = 0; i < STATIONS; i++)
		core.states[i] = (struct ctp_state){ .owner = CTP_OWNER_GUEST, .id = 1 + i, .entity = CTP_COROUTINE, .life = (uint8_t)(i + 1),
						     .station = i, .since = 1000, .lo = 0x10000, .hi = 0x10400, .nwaits = 1,
						     .waits = { { .fd = 7, .gen = 1, .epfd = 3 } } };
	core.threads[0] = (struct ctp_thread){ .tid = 4711, .life = CTP_THREAD_LIVE, .current = 2, .switches = 9 };
	core.fds[7] = (struct ctp_fd){ .gen = 1, .life = CTP_FD_OPEN, .reg_epfd = 3 };
}

int main(void)
{
	struct ctp_header *h = &core.first.header;
	ctp_region_layout(h, STATIONS, 4096);
	fill_tables(h);
	core.elf = (Elf64_Ehdr){ .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT }, .e_type = ET_CORE,
				 .e_machine = own_machine(), .e_version = EV_CURRENT, .e_phoff = (uint64_t)((char *)core.load - (char *)&core),
				 .e_ehsize = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 6 };
	load(0, &core.first, sizeof(core.first), BASE);
	load(1, core.states, sizeof(core.states), BASE + h->ext.states_off);
	load(2, core.threads, sizeof(core.threads), BASE + h->ext.threads_off);
	load(3, core.fds, sizeof(core.fds), BASE + h->ext.fds_off);
	load(4, core.stack, sizeof(core.stack), 0x10000);
	load(5, &core.notes, sizeof(core.notes), 0);
	core.load[5].p_type = PT_NOTE;
	head(&core.notes.status_head, NT_PRSTATUS, sizeof(core.notes.status));
	head(&core.notes.process_head, NT_PRPSINFO, sizeof(core.notes.process));
	head(&core.notes.info_head, NT_SIGINFO, sizeof(core.notes.info));
	core.notes.status.pr_pid = core.notes.process.pr_pid = 4711;
	core.notes.status.pr_cursig = (short)(core.notes.info.si_signo = SIGSEGV);
	strcpy(core.notes.process.pr_psargs, "program with words ");
	return fwrite(&core, sizeof(core), 1, stdout) != 1;
}
