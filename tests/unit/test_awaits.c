// SPDX-License-Identifier: MIT
//
// Where a coroutine function awaits, by debug information that was made by hand (awaits_fake.S).
#include <dwarf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "symbols/awaits.h"

extern char fake_one[], fake_same[], fake_inner[], fake_wrapped[];

static uint64_t bias; // between this program's addresses and those of its file

struct opened {
	int fd;
	Dwarf *dwarf;
	Dwarf_Die unit;
};

static void open_fake(struct opened *o)
{
	Dwarf_Off at = 0, next;
	size_t header;
	o->fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	o->dwarf = dwarf_begin(o->fd, DWARF_C_READ);
	assert_non_null(o->dwarf);
	for (; !dwarf_nextcu(o->dwarf, at, &next, &header, NULL, NULL, NULL); at = next) {
		const char *name = dwarf_offdie(o->dwarf, at + header, &o->unit) ? dwarf_diename(&o->unit) :
										   NULL;
		if (name && !strcmp(name, "fake"))
			return;
	}
	fail_msg("no unit \"fake\"");
}

static uint64_t find(const char *function)
{
	struct opened o;
	Dwarf_Die die;
	Dwarf_Attribute a;
	uint64_t found = UINT64_MAX;
	open_fake(&o);
	for (int more = dwarf_child(&o.unit, &die); !more; more = dwarf_siblingof(&die, &die)) {
		const char *name = dwarf_formstring(dwarf_attr(&die, DW_AT_linkage_name, &a));
		if (name && !strcmp(name, function))
			found = awaits_find(&o.unit, &die);
	}
	dwarf_end(o.dwarf);
	close(o.fd);
	assert_int_not_equal(found, UINT64_MAX);
	return found ? found + bias : 0;
}

static void one_place(void **state)
{
	(void)state;
	assert_int_equal(find("_Z3onev"), (uintptr_t)fake_one);
	assert_int_equal(find("_Z7wrappedv"), (uintptr_t)fake_wrapped);
}

static void copies_of_one_line(void **state)
{
	(void)state;
	assert_int_equal(find("_Z4samev"), (uintptr_t)fake_same);
}

static void several_or_none(void **state)
{
	(void)state;
	assert_int_equal(find("_Z3twov"), 0);
	assert_int_equal(find("_Z4nonev"), 0);
	assert_int_equal(find("_Z5plainv"), 0);
}

static void inlined_into_another(void **state)
{
	(void)state;
	assert_int_equal(find("_Z5innerv"), (uintptr_t)fake_inner);
	assert_int_equal(find("_Z5outerv"), 0);
}

int main(void)
{
	struct opened o;
	Dwarf_Die die;
	Dwarf_Addr low = 0;
	open_fake(&o);
	for (int more = dwarf_child(&o.unit, &die); !more && !low; more = dwarf_siblingof(&die, &die))
		dwarf_lowpc(&die, &low);
	bias = (uintptr_t)fake_one - 1 - low; // _Z3onev begins a byte before
	dwarf_end(o.dwarf);
	close(o.fd);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_place),
		cmocka_unit_test(copies_of_one_line),
		cmocka_unit_test(several_or_none),
		cmocka_unit_test(inlined_into_another),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
