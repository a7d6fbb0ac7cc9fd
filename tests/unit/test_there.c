// SPDX-License-Identifier: MIT
//
// Which pages of a sparse file hold rows: found without making any, and asked about once.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctp/there.h"

enum { PAGE = 4096, PAGES = 64, ROW = 1024, ROWS = PAGES * PAGE / ROW };

struct file {
	struct ctp_there there;
	struct ctp_region region;
};

static int make(void **state)
{
	struct file *f = calloc(1, sizeof(*f));
	if (!f)
		return -1;
	f->there.fd = memfd_create("there", MFD_CLOEXEC);
	if (f->there.fd < 0 || ftruncate(f->there.fd, PAGES * PAGE))
		return -1;
	f->region.base = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, f->there.fd, 0);
	f->region.there = &f->there;
	*state = f;
	if (f->region.base == MAP_FAILED)
		return -1;
	madvise(f->region.base, PAGES * PAGE, MADV_NOHUGEPAGE); // fails where there are none
	return 0;
}

static int drop(void **state)
{
	struct file *f = *state;
	munmap(f->region.base, PAGES * PAGE);
	close(f->there.fd);
	free(f);
	return 0;
}

static void write_page(struct file *f, unsigned page)
{
	f->region.base[page * PAGE] = 1;
}

static unsigned pages(const struct file *f)
{
	struct stat st;
	assert_int_equal(fstat(f->there.fd, &st), 0);
	return (unsigned)(st.st_blocks * 512 / PAGE);
}

// The pages whose rows a walk gives, one bit each.
static uint64_t walked(struct file *f, unsigned from, unsigned n)
{
	uint64_t bits = 0;
	struct ctp_walk w = ctp_walk(&f->region, f->region.base + from * PAGE, ROW, (uint64_t)n * PAGE / ROW);
	for (uint64_t i = ctp_walk_from(&w, 0); i < w.n; i = ctp_walk_from(&w, i + 1)) {
		assert_true(i < w.n);
		(void)*(volatile unsigned char *)(f->region.base + from * PAGE + i * ROW);
		bits |= 1ull << (from + i * ROW / PAGE);
	}
	return bits;
}

static void a_walk_makes_no_page(void **state)
{
	struct file *f = *state;
	assert_int_equal(walked(f, 0, PAGES), 0);
	write_page(f, 3);
	write_page(f, 4);
	write_page(f, 20);
	assert_int_equal(walked(f, 0, PAGES), 1u << 3 | 1u << 4 | 1u << 20);
	assert_int_equal(walked(f, 4, 8), 1u << 4);
	assert_int_equal(walked(f, 5, 8), 0); // what follows lies behind the table
	assert_int_equal(pages(f), 3);
}

static void a_table_that_grows_is_seen(void **state)
{
	struct file *f = *state;
	for (unsigned page = 0; page < 40; page++) {
		write_page(f, page);
		assert_int_equal(walked(f, 0, PAGES), (2ull << page) - 1);
	}
	assert_int_equal(pages(f), 40);
	// one stretch, not forty
	unsigned known = 0;
	for (unsigned i = 0; i < CTP_THERE_KNOWN; i++)
		known += f->there.known[i].to > 0;
	assert_int_equal(known, 1);
}

static void many_stretches_are_found(void **state)
{
	struct file *f = *state;
	uint64_t want = 0;
	for (unsigned page = 1; page < PAGES; page += 3) {
		write_page(f, page);
		want |= 1ull << page;
	}
	for (unsigned i = 0; i < 3; i++)
		assert_true(walked(f, 0, PAGES) == want);
	assert_int_equal(pages(f), (PAGES - 1 + 2) / 3);
}

static void all_of_it_or_not(void **state)
{
	struct file *f = *state;
	write_page(f, 3);
	write_page(f, 4);
	assert_true(ctp_there_all(&f->region, f->region.base + 3 * PAGE + 100, PAGE));
	assert_true(ctp_there(&f->region, f->region.base + 4 * PAGE + PAGE - 1));
	assert_false(ctp_there_all(&f->region, f->region.base + 4 * PAGE, PAGE + 1));
	assert_false(ctp_there_all(&f->region, f->region.base + 2 * PAGE, 2 * PAGE));
	assert_false(ctp_there(&f->region, f->region.base + 5 * PAGE));
	write_page(f, 5);
	assert_true(ctp_there_all(&f->region, f->region.base + 3 * PAGE, 3 * PAGE));
	assert_int_equal(pages(f), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_walk_makes_no_page, make, drop),
		cmocka_unit_test_setup_teardown(a_table_that_grows_is_seen, make, drop),
		cmocka_unit_test_setup_teardown(many_stretches_are_found, make, drop),
		cmocka_unit_test_setup_teardown(all_of_it_or_not, make, drop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
