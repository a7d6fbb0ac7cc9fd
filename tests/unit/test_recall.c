// SPDX-License-Identifier: MIT
//
// What was found in an object's code is known when it is loaded again, by its build id; what changed
// since is searched anew.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "preload/guest/tracer.h"
#include "preload/patch/recall.h"

static struct tracer tracer;
struct tracer *ctp_tracer = &tracer;

void sw_slot(void), sw_struct(void);
void co_body(void);

void co_body(void) // what switchers.S begins contexts with
{
	abort();
}

enum { ROOM = 8192, NOTE = 256, CODE = 4096, FIRST = 100, SECOND = 700, PLACE = 256, MOST = 8 };

// An object in memory: headers, a note, code with two bodies.
struct laid {
	ElfW(Phdr) ph[3];
	struct object o;
	uint8_t *room;
};

static void put_body(uint8_t *to, void (*fn)(void))
{
	const uint8_t *at;
	memcpy(&at, &fn, sizeof(at));
	memcpy(to, at, match_at(at, at + PLACE)->length);
}

static void lay(struct laid *l, uint32_t id_bytes, uint8_t id)
{
	ElfW(Nhdr) h = {.n_namesz = 4, .n_descsz = id_bytes, .n_type = NT_GNU_BUILD_ID};
	*l = (struct laid){.room = calloc(1, ROOM)};
	assert_non_null(l->room);
	memcpy(l->room + NOTE, &h, sizeof(h));
	memcpy(l->room + NOTE + sizeof(h), ELF_NOTE_GNU, 4);
	memset(l->room + NOTE + sizeof(h) + 4, id, id_bytes);
	l->ph[0] = (ElfW(Phdr)){.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = CODE, .p_memsz = CODE};
	l->ph[1] = (ElfW(Phdr)){.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = CODE,
				.p_filesz = ROOM - CODE, .p_memsz = ROOM - CODE};
	l->ph[2] = (ElfW(Phdr)){.p_type = PT_NOTE, .p_flags = PF_R, .p_vaddr = NOTE, .p_align = 4,
				.p_filesz = sizeof(h) + 4 + (id_bytes + 3) / 4 * 4};
	l->o = (struct object){.ph = l->ph, .nph = 3, .base = (uint64_t)l->room};
	put_body(l->room + CODE + FIRST, sw_slot);
	put_body(l->room + CODE + SECOND, sw_struct);
}

static size_t search(struct laid *l, struct match *m)
{
	return match_all(l->room + CODE, l->room + ROOM, m, MOST);
}

static void the_same_at_another_place(void **state)
{
	(void)state;
	struct laid a, b;
	struct match m[MOST], again[MOST];
	size_t n, known;
	lay(&a, 20, 1);
	lay(&b, 20, 1);
	n = search(&a, m);
	assert_int_equal(n, 2);
	assert_false(recall_get(&a.o, again, MOST, &known));
	recall_put(&a.o, m, n);
	assert_true(recall_get(&b.o, again, MOST, &known));
	assert_int_equal(known, n);
	for (size_t i = 0; i < n; i++) {
		assert_ptr_equal(again[i].row, m[i].row);
		assert_int_equal(again[i].at - b.room, m[i].at - a.room);
		assert_false(again[i].broken);
	}
	assert_false(recall_get(&b.o, again, 1, &known)); // no room for both
	free(a.room);
	free(b.room);
}

static void another_is_searched(void **state)
{
	(void)state;
	struct laid a, other;
	struct match m[MOST];
	size_t known;
	lay(&a, 20, 2);
	recall_put(&a.o, m, search(&a, m));
	assert_true(recall_get(&a.o, m, MOST, &known));
	lay(&other, 20, 3); // another id
	assert_false(recall_get(&other.o, m, MOST, &known));
	free(other.room);
	lay(&other, 8, 2); // a shorter one
	assert_false(recall_get(&other.o, m, MOST, &known));
	a.ph[1].p_filesz -= 16; // other code
	assert_false(recall_get(&a.o, m, MOST, &known));
	a.ph[1].p_filesz += 16;
	a.room[CODE + SECOND + 3] ^= 1; // a body that is none any more
	assert_false(recall_get(&a.o, m, MOST, &known));
	free(a.room);
	free(other.room);
}

static void none_found_is_known(void **state)
{
	(void)state;
	struct laid a;
	struct match m[MOST];
	size_t known = 7;
	lay(&a, 16, 4);
	memset(a.room + CODE, 0, ROOM - CODE);
	recall_put(&a.o, m, search(&a, m));
	assert_true(recall_get(&a.o, m, MOST, &known));
	assert_int_equal(known, 0);
	free(a.room);
}

static void without_an_id_nothing_is_kept(void **state)
{
	(void)state;
	static const uint32_t sizes[] = {0, 33};
	struct match m[MOST];
	size_t known;
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct laid a;
		lay(&a, sizes[i], 5);
		recall_put(&a.o, m, search(&a, m));
		assert_false(recall_get(&a.o, m, MOST, &known));
		free(a.room);
	}
	struct laid a; // a note that goes on behind what is mapped
	lay(&a, 20, 6);
	a.ph[2].p_filesz = CODE;
	recall_put(&a.o, m, search(&a, m));
	assert_false(recall_get(&a.o, m, MOST, &known));
	free(a.room);
}

// More objects than there is room for: the oldest go.
static void old_ones_make_room(void **state)
{
	(void)state;
	struct match m[MOST];
	size_t known;
	struct laid a;
	for (int id = 0; id < 200; id++) {
		lay(&a, 24, (uint8_t)id);
		recall_put(&a.o, m, search(&a, m));
		assert_true(recall_get(&a.o, m, MOST, &known));
		free(a.room);
	}
	lay(&a, 24, 0);
	assert_false(recall_get(&a.o, m, MOST, &known));
	free(a.room);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_at_another_place), cmocka_unit_test(another_is_searched),
		cmocka_unit_test(none_found_is_known),	     cmocka_unit_test(without_an_id_nothing_is_kept),
		cmocka_unit_test(old_ones_make_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
