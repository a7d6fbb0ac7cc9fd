// SPDX-License-Identifier: MIT
//
// A child that sleeps is saved, and read back from the folder: its memory, its threads, its descriptors.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "find/image.h"
#include "find/save.h"
#include "sanitized.h"

enum { PAGE = 4096, FD = 77 };

static const uint64_t known = 0x0fedcba987654321;
static uint64_t *pages;
static pid_t child;
static struct image im;
static char place[] = "/tmp/ctp-save-XXXXXX", folder[64], path[128];

static int sleeps(void **state)
{
	pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(pages, MAP_FAILED);
	*pages = known;
	strcpy(place + strlen(place) - 6, "XXXXXX");
	assert_non_null(mkdtemp(place));
	snprintf(folder, sizeof(folder), "%s/saved", place);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(open("/dev/null", O_RDONLY), FD);
		for (;;)
			pause();
	}
	int e;
	do { // it has the descriptor once it sleeps
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)child, FD);
		e = access(path, F_OK);
	} while (e && !kill(child, 0) && errno != EACCES);
	e = image_of_process(&im, child, UINT64_MAX);
	if (e == -EPERM || e == -EACCES) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		skip();
	}
	assert_int_equal(e, 0);
	return 0;
}

static int take_away(const char *name, const struct stat *st, int type, struct FTW *at)
{
	return remove(name);
}

static int ends(void **state)
{
	image_close(&im);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	munmap(pages, 2 * PAGE);
	return nftw(place, take_away, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *in(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void memory_and_threads_come_back(void **state)
{
	struct image core;
	uint64_t word = 0;
	assert_int_equal(save_process(&im, false, folder), 0);
	assert_int_equal(image_of_core(&core, in("core"), UINT64_MAX), 0);
	assert_true(image_word(&core, (uintptr_t)pages, &word));
	assert_int_equal(word, known);
	assert_true(image_word(&core, (uintptr_t)pages + PAGE, &word));
	assert_int_equal(word, 0); // never touched
	assert_int_equal(core.nthreads, im.nthreads);
	assert_int_equal(core.threads[0].tid, child);
	assert_int_equal(core.threads[0].regs[CTP_REG_SP], im.threads[0].regs[CTP_REG_SP]);
	assert_true(image_is_code(&core, (uintptr_t)memory_and_threads_come_back));
	image_close(&core);
}

static void descriptors_come_along(void **state)
{
	char link[64] = "", name[32];
	assert_int_equal(save_process(&im, false, folder), 0);
	snprintf(name, sizeof(name), "fd/%d", FD);
	assert_true(readlink(in(name), link, sizeof(link) - 1) > 0);
	assert_string_equal(link, "/dev/null");
	snprintf(name, sizeof(name), "fdinfo/%d", FD);
	assert_int_equal(access(in(name), R_OK), 0);
	struct stat st;
	assert_int_equal(stat(in("core"), &st), 0);
	assert_int_equal(st.st_mode & 077, 0); // its memory is nobody else's
}

static void nothing_is_overwritten(void **state)
{
	struct stat before, after;
	assert_int_equal(save_process(&im, false, folder), 0);
	assert_int_equal(stat(in("core"), &before), 0);
	assert_int_equal(save_process(&im, false, folder), -EEXIST);
	assert_int_equal(stat(in("core"), &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(save_process(&im, false, "/proc/none/saved"), -ENOENT);
}

// Of which thread the core does not have all registers stands beside it.
static void what_is_not_whole_is_known(void **state)
{
	assert_true(im.nthreads > 0);
	im.threads[0].whole = false;
	im.threads[0].placed = true;
	im.threads[0].nr = 34;
	assert_int_equal(save_process(&im, false, folder), 0);
	im.threads[0].whole = true;
	im.threads[0].placed = false;
	im.threads[0].nr = -1;
	save_read_partial(&im, folder);
	assert_false(im.threads[0].whole);
	assert_true(im.threads[0].placed);
	assert_int_equal(im.threads[0].nr, 34);
	im.threads[0].whole = true;
	assert_int_equal(unlink(in("partial")), 0);
	save_read_partial(&im, folder);
	assert_true(im.threads[0].whole);
}

int main(void)
{
	if (not_under(SANITIZED, "the child has the sanitizer's terabytes and threads, too"))
		return SKIPPED_PROGRAM;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(memory_and_threads_come_back, sleeps, ends),
		cmocka_unit_test_setup_teardown(descriptors_come_along, sleeps, ends),
		cmocka_unit_test_setup_teardown(nothing_is_overwritten, sleeps, ends),
		cmocka_unit_test_setup_teardown(what_is_not_whole_is_known, sleeps, ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
