// SPDX-License-Identifier: MIT
//
// An index of compilation units by address, made of what each unit says of itself: DW_AT_ranges, or
// DW_AT_low_pc and DW_AT_high_pc, else those of its functions. Sources: DWARF 5, sections 2.17 and 3.1.1.
#include "symbols/units.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"

struct units_range {
	Dwarf_Addr start, end;
	Dwarf_Addr reach; // the greatest end of this and all before it
	Dwarf_Off unit;
};

struct units {
	Dwarf *dwarf;
	struct units_range *ranges; // by start
	size_t n, capacity;
};

enum { NESTED_MAX = 64 }; // namespaces and classes in each other

// How many ranges the entry tells, or -ENOMEM. Code that the linker left out begins at 0 (or 1, GNU ld; or at
// the end of all addresses, lld).
static long add_ranges(struct units *u, Dwarf_Die *die, Dwarf_Off unit)
{
	Dwarf_Addr base, start, end;
	long told = 0;
	for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &start, &end)) > 0; told++) {
		if (start <= 1 || end <= start)
			continue;
		if (GROW(u->ranges, u->n, u->capacity))
			return -ENOMEM;
		u->ranges[u->n++] = (struct units_range){.start = start, .end = end, .unit = unit};
	}
	return told;
}

// The functions of a unit that tells no addresses itself.
static long add_functions(struct units *u, Dwarf_Die *parent, Dwarf_Off unit, unsigned nested)
{
	Dwarf_Die child;
	long r = 0;
	if (nested > NESTED_MAX)
		return 0;
	for (int more = dwarf_child(parent, &child); !more && r >= 0;
	     more = dwarf_siblingof(&child, &child)) {
		switch (dwarf_tag(&child)) {
		case DW_TAG_subprogram:
			r = add_ranges(u, &child, unit);
			break;
		case DW_TAG_namespace:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
			r = add_functions(u, &child, unit, nested + 1);
			break;
		default:
			break;
		}
	}
	return r;
}

static int by_start(const void *a, const void *b)
{
	const struct units_range *x = a, *y = b;
	return x->start != y->start ? (x->start > y->start) - (x->start < y->start) :
				      (x->unit > y->unit) - (x->unit < y->unit);
}

static int read_all(struct units *u)
{
	Dwarf_CU *cu = NULL;
	uint8_t type;
	Dwarf_Die die;
	while (!dwarf_get_units(u->dwarf, cu, &cu, NULL, &type, &die, NULL)) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		Dwarf_Off unit = dwarf_dieoffset(&die);
		long r = add_ranges(u, &die, unit);
		if (!r)
			r = add_functions(u, &die, unit, 0);
		if (r < 0)
			return (int)r;
	}
	return 0;
}

int units_new(struct units **out, Dwarf *dwarf)
{
	struct units *u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->dwarf = dwarf;
	if (read_all(u)) {
		units_free(u);
		return -ENOMEM;
	}
	if (u->n)
		qsort(u->ranges, u->n, sizeof(*u->ranges), by_start);
	Dwarf_Addr reach = 0;
	for (size_t i = 0; i < u->n; i++) {
		reach = u->ranges[i].end > reach ? u->ranges[i].end : reach;
		u->ranges[i].reach = reach;
	}
	*out = u;
	return 0;
}

void units_free(struct units *u)
{
	if (!u)
		return;
	free(u->ranges);
	free(u);
}

bool units_at(const struct units *u, Dwarf_Addr address, Dwarf_Die *unit)
{
	size_t low = 0, high = u->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (u->ranges[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i-- && u->ranges[i].reach > address;)
		if (u->ranges[i].end > address)
			return dwarf_offdie(u->dwarf, u->ranges[i].unit, unit);
	return false;
}
