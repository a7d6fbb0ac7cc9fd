// SPDX-License-Identifier: MIT
//
// A stripped program has no names for its functions, but unwinding needs the place where
// each begins: .eh_frame_hdr is a sorted table of these. Only its usual form is read
// (four bytes each, relative to the table), and an entry counts only if .eh_frame agrees:
// a file may hold anything, and what lies between two functions belongs to neither.
#include "symbols/ehframe.h"

#include <elf.h>
#include <gelf.h>
#include <string.h>

enum { HEAD_BYTES = 12, VERSION = 1, PCREL_SDATA4 = 0x1b, UDATA4 = 0x03, DATAREL_SDATA4 = 0x3b };

struct row {
	int32_t start, entry; // from the beginning of the table's header
};

struct piece {
	uint64_t address, offset, bytes; // in memory, in the file
};

static bool read_at(Elf *elf, const struct piece *p, uint64_t address, void *to, size_t bytes)
{
	uint64_t at = address - p->address;
	if (address < p->address || at > p->bytes || bytes > p->bytes - at)
		return false;
	const Elf_Data *d = elf_getdata_rawchunk(elf, (int64_t)(p->offset + at), bytes, ELF_T_BYTE);
	if (d && d->d_buf && d->d_size >= bytes)
		memcpy(to, d->d_buf, bytes);
	return d && d->d_buf && d->d_size >= bytes;
}

// The table's header, and the segment in which it is loaded.
static bool find_table(Elf *elf, struct piece *header, struct piece *segment)
{
	GElf_Phdr p;
	size_t n;
	*header = *segment = (struct piece){0};
	if (gelf_getclass(elf) != ELFCLASS64 || elf_getphdrnum(elf, &n))
		return false;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_GNU_EH_FRAME)
			*header = (struct piece){p.p_vaddr, p.p_offset, p.p_filesz};
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD &&
		    header->address - p.p_vaddr < p.p_filesz)
			*segment = (struct piece){p.p_vaddr, p.p_offset, p.p_filesz};
	return header->bytes > HEAD_BYTES && segment->bytes;
}

// Its entry begins with its length, who it is like, where it begins and how long it is.
static bool has(Elf *elf, const struct piece *segment, uint64_t entry, uint64_t start, uint64_t address)
{
	struct {
		uint32_t length, like;
		int32_t begins;
		uint32_t bytes;
	} e;
	return read_at(elf, segment, entry, &e, sizeof(e)) && entry + 8 + (uint64_t)e.begins == start &&
	       address - start < e.bytes;
}

uint64_t ehframe_function(Elf *elf, uint64_t address)
{
	struct piece header, segment;
	struct row row;
	unsigned char head[HEAD_BYTES];
	uint32_t n;
	if (!elf || !find_table(elf, &header, &segment) ||
	    !read_at(elf, &header, header.address, head, sizeof(head)))
		return 0;
	memcpy(&n, head + 8, sizeof(n));
	if (head[0] != VERSION || head[1] != PCREL_SDATA4 || head[2] != UDATA4 || head[3] != DATAREL_SDATA4 ||
	    !n || (header.bytes - HEAD_BYTES) / sizeof(row) < n)
		return 0;
	uint32_t low = 0; // the last row that begins at or before it
	for (uint32_t high = n; high - low > 1;) {
		uint32_t mid = low + (high - low) / 2;
		if (!read_at(elf, &header, header.address + HEAD_BYTES + mid * sizeof(row), &row,
			     sizeof(row)))
			return 0;
		if (header.address + (uint64_t)row.start <= address)
			low = mid;
		else
			high = mid;
	}
	if (!read_at(elf, &header, header.address + HEAD_BYTES + low * sizeof(row), &row, sizeof(row)))
		return 0;
	uint64_t start = header.address + (uint64_t)row.start;
	return has(elf, &segment, header.address + (uint64_t)row.entry, start, address) ? start : 0;
}
