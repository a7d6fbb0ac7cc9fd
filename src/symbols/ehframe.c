// SPDX-License-Identifier: MIT
//
// A stripped program has no names for its functions, but unwinding needs the place where
// each begins: .eh_frame_hdr is a sorted table of these. Only its usual form is read
// (four bytes each, relative to the table), and an entry counts only if .eh_frame agrees:
// a file may hold anything, and what lies between two functions belongs to neither.
#include "symbols/ehframe.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
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

// How many rows the table has; 0: none, or not of the usual form.
static uint32_t rows_of(Elf *elf, const struct piece *header)
{
	unsigned char head[HEAD_BYTES];
	uint32_t n;
	if (!read_at(elf, header, header->address, head, sizeof(head)) || head[0] != VERSION ||
	    head[1] != PCREL_SDATA4 || head[2] != UDATA4 || head[3] != DATAREL_SDATA4)
		return 0;
	memcpy(&n, head + 8, sizeof(n));
	return (header->bytes - HEAD_BYTES) / sizeof(struct row) < n ? 0 : n;
}

static bool read_row(Elf *elf, const struct piece *header, uint32_t i, struct row *out)
{
	return read_at(elf, header, header->address + HEAD_BYTES + i * sizeof(*out), out, sizeof(*out));
}

uint64_t ehframe_function(Elf *elf, uint64_t address)
{
	struct piece header, segment;
	struct row row;
	if (!elf || !find_table(elf, &header, &segment))
		return 0;
	uint32_t n = rows_of(elf, &header), low = 0; // the last row that begins at or before it
	if (!n)
		return 0;
	for (uint32_t high = n; high - low > 1;) {
		uint32_t mid = low + (high - low) / 2;
		if (!read_row(elf, &header, mid, &row))
			return 0;
		if (header.address + (uint64_t)row.start <= address)
			low = mid;
		else
			high = mid;
	}
	if (!read_row(elf, &header, low, &row))
		return 0;
	uint64_t start = header.address + (uint64_t)row.start;
	return has(elf, &segment, header.address + (uint64_t)row.entry, start, address) ? start : 0;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

int ehframe_starts(Elf *elf, uint64_t **starts, size_t *n)
{
	struct piece header, segment;
	uint32_t rows = elf && find_table(elf, &header, &segment) ? rows_of(elf, &header) : 0;
	const Elf_Data *d = rows ? elf_getdata_rawchunk(elf, (int64_t)(header.offset + HEAD_BYTES),
							rows * sizeof(struct row), ELF_T_BYTE) :
				   NULL;
	*starts = NULL;
	*n = 0;
	if (!d || !d->d_buf || d->d_size < rows * sizeof(struct row))
		return 0;
	uint64_t *v = calloc(rows, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (uint32_t i = 0; i < rows; i++) {
		struct row row;
		memcpy(&row, (const char *)d->d_buf + i * sizeof(row), sizeof(row));
		v[i] = header.address + (uint64_t)row.start;
	}
	qsort(v, rows, sizeof(*v), by_value);
	*starts = v;
	*n = rows;
	return 0;
}
