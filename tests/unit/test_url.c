// SPDX-License-Identifier: MIT
//
// Addresses of databases.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "analyze/export/url.h"

static void assert_same(const char *got, const char *want)
{
	if (want)
		assert_string_equal(got, want);
	else
		assert_null(got);
}

static void assert_parts(const char *text, const char *user, const char *password, const char *host, const char *port,
			 const char *database)
{
	struct url u;
	assert_int_equal(url_read(&u, text), 0);
	assert_same(u.user, user);
	assert_same(u.password, password);
	assert_same(u.host, host);
	assert_same(u.port, port);
	assert_same(u.database, database);
	url_deinit(&u);
}

static void parts(void **state)
{
	(void)state;
	assert_parts("mysql://me@h:3306/d?socket=/run/s", "me", NULL, "h", "3306", "d");
	assert_parts("mysql://", NULL, NULL, NULL, NULL, NULL);
	assert_parts("mysql:///d", NULL, NULL, NULL, NULL, "d");
	assert_parts("clickhouse://[::1]:8123/d", NULL, NULL, "::1", "8123", "d");
	assert_parts("clickhouse://[::1]/", NULL, NULL, "::1", NULL, NULL);
	assert_parts("mysql://a%40b:p%3a@w@h/d%20e%", "a@b", "p:@w", "h", NULL, "d e%");
	assert_parts("mysql://h/%00", NULL, NULL, "h", NULL, "%00"); // a NUL would end the text
}

static void options(void **state)
{
	struct url u;
	char buf[16];
	(void)state;
	assert_int_equal(url_read(&u, "mysql://h/d?a=1&socket=%2frun%2Fs&b"), 0);
	assert_string_equal(url_option(&u, "socket", buf, sizeof(buf)), "/run/s");
	assert_string_equal(url_option(&u, "a", buf, sizeof(buf)), "1");
	assert_null(url_option(&u, "b", buf, sizeof(buf)));
	assert_null(url_option(&u, "sock", buf, sizeof(buf)));
	url_deinit(&u);
	assert_int_equal(url_read(&u, "mysql:h"), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(parts), cmocka_unit_test(options) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
