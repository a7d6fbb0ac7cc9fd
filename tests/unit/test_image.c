// SPDX-License-Identifier: MIT
//
// A child that sleeps, as the search sees it: its memory, its code, its objects and their functions.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_image.h"
#include "find/objects.h"

static const uint64_t known[2] = {0x0123456789abcdef, 77};
static unsigned char *pages; // the second of three cannot be read
static pid_t child;
static struct image im;
static bool denied; // nothing may be looked at here

static int sleeps(void **state)
{
	pages = mmap(NULL, 3 * FAKE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(pages, MAP_FAILED);
	memset(pages, 5, 3 * FAKE_PAGE);
	assert_int_equal(munmap(pages + FAKE_PAGE, FAKE_PAGE), 0);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	int e = image_of_process(&im, child, UINT64_MAX);
	denied = e == -EPERM || e == -EACCES;
	return denied ? 0 : e;
}

static int ends(void **state)
{
	if (!denied)
		image_close(&im);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	munmap(pages, FAKE_PAGE);
	munmap(pages + 2 * FAKE_PAGE, FAKE_PAGE);
	return 0;
}

static void may(void)
{
	if (denied)
		skip();
}

static uint64_t of(const void *p)
{
	return (uintptr_t)p;
}

static uint64_t of_function(pid_t (*fn)(void))
{
	uint64_t at;
	memcpy(&at, &fn, sizeof(at));
	return at;
}

static pid_t here(void)
{
	return child;
}

static void its_memory(void **state)
{
	uint64_t word;
	unsigned char bytes[64];
	may();
	assert_true(image_word(&im, of(&known[1]), &word));
	assert_int_equal(word, 77);
	assert_false(image_word(&im, of(pages + FAKE_PAGE), &word));
	assert_false(image_word(&im, of(pages + FAKE_PAGE) - 4, &word)); // half of it is there
	assert_int_equal(image_peek(&im, of(pages + FAKE_PAGE) - 16, bytes, sizeof(bytes)), 16);
	assert_int_equal(bytes[15], 5);
	assert_false(image_read(&im, of(pages + FAKE_PAGE) - 16, bytes, sizeof(bytes)));
	assert_true(image_read(&im, of(pages + 2 * FAKE_PAGE), bytes, sizeof(bytes)));
}

static void many_pieces_at_once(void **state)
{
	const uint64_t addrs[] = {of(known), of(pages + FAKE_PAGE), of(&known[1]), 8};
	uint64_t to[4] = {0};
	bool got[4];
	may();
	image_read_many(&im, addrs, 4, sizeof(*to), to, got);
	assert_true(got[0] && !got[1] && got[2] && !got[3]);
	assert_int_equal(to[0], known[0]);
	assert_int_equal(to[2], 77);
}

static void its_mappings(void **state)
{
	may();
	const struct maps_line *l = image_map(&im, of(pages + FAKE_PAGE - 1));
	assert_non_null(l);
	assert_in_range(of(pages), l->lo, l->hi - 1);
	assert_null(image_map(&im, of(pages + FAKE_PAGE)));
	assert_true(image_is_code(&im, of_function(here)));
	assert_false(image_is_code(&im, of(pages)));
	assert_false(image_is_code(&im, of(pages + FAKE_PAGE)));
	size_t own = 0; // a sanitizer adds a thread of its own
	for (size_t i = 0; i < im.nthreads; i++)
		own += im.threads[i].tid == child;
	assert_int_equal(own, 1);
}

static void its_objects(void **state)
{
	struct objects o;
	struct span s;
	may();
	assert_int_equal(objects_read(&o, &im), 0);
	const struct object *own = objects_at(&o, of_function(here));
	struct object *library = objects_at(&o, of_function(getpid));
	assert_non_null(own);
	assert_non_null(library);
	assert_ptr_not_equal(own, library);
	assert_null(objects_at(&o, of(pages)));
	assert_true(objects_function(&o, of_function(here) + 1, &s));
	assert_int_equal(s.lo, of_function(here));
	assert_true(s.hi > s.lo + 1);
	assert_false(objects_function(&o, of(pages), &s));
	objects_deinit(&o);
}

static void what_they_export(void **state)
{
	struct objects o;
	may();
	assert_int_equal(objects_read(&o, &im), 0);
	struct object *library = objects_at(&o, of_function(getppid));
	assert_int_equal(objects_symbol(&o, library, "getppid"), of_function(getppid));
	assert_int_equal(objects_symbol(&o, library, "no_such_function"), 0);
	objects_deinit(&o);
}

static void functions_by_their_rows(void **state)
{
	struct fake_image f;
	struct span s;
	fake_image_open(&f, "/bin/fake");
	assert_true(objects_function(&f.objects, fake_function(&f, 2), &s));
	assert_int_equal(s.lo, fake_function(&f, 2));
	assert_int_equal(s.hi, fake_function(&f, 3));
	assert_true(objects_function(&f.objects, fake_function(&f, 3) - 1, &s));
	assert_int_equal(s.lo, fake_function(&f, 2));
	f.lengths[2] = FAKE_FUNCTION / 2; // what lies behind is no function's
	assert_false(objects_function(&f.objects, fake_function(&f, 2) + FAKE_FUNCTION / 2, &s));
	assert_true(objects_function(&f.objects, fake_function(&f, 2) + FAKE_FUNCTION / 2 - 1, &s));
	assert_false(objects_function(&f.objects, fake_function(&f, 0) - 1, &s));
	assert_false(objects_function(&f.objects, fake_function(&f, FAKE_FUNCTIONS), &s));
	fake_image_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(its_memory, sleeps, ends),
		cmocka_unit_test_setup_teardown(many_pieces_at_once, sleeps, ends),
		cmocka_unit_test_setup_teardown(its_mappings, sleeps, ends),
		cmocka_unit_test_setup_teardown(its_objects, sleeps, ends),
		cmocka_unit_test_setup_teardown(what_they_export, sleeps, ends),
		cmocka_unit_test(functions_by_their_rows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
