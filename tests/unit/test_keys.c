// SPDX-License-Identifier: MIT
//
// What a process keeps in the kernel's key rings: this process, before and after it made a key.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/keyctl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/stored/keys.h"
#include "engine/stored/queues.h"

static const uint64_t secret = 0x7f00feedbeef1234;
static unsigned met;

static void on_bytes(void *ctx, const char *where, const unsigned char *bytes, size_t n)
{
	(void)ctx;
	met += n == sizeof(secret) && !memcmp(bytes, &secret, n) && strstr(where, "key ");
}

static bool read_keys(const struct keys *before)
{
	struct inspection l = {.pid = getpid()};
	struct queues q = {.l = &l, .bytes = on_bytes};
	met = 0;
	bool all = keys_read(&q, before);
	assert_true(all || *q.why);
	return all;
}

static long make_key(void)
{
	char name[32];
	snprintf(name, sizeof(name), "test_keys-%d", (int)getpid());
	return syscall(SYS_add_key, "user", name, &secret, sizeof(secret), KEY_SPEC_PROCESS_KEYRING);
}

static void keys_that_can_be_read_are_told(void **state)
{
	(void)state;
	struct keys before;
	keys_init(&before, getpid());
	long key = make_key();
	if (key < 0) {
		keys_deinit(&before);
		skip(); // no keys here
	}
	assert_true(read_keys(&before));
	assert_int_equal(met, 1);
	assert_int_equal(syscall(SYS_keyctl, KEYCTL_REVOKE, key), 0);
	keys_deinit(&before);
}

// A child keeps one that only who possesses it can see: there is a doubt, though it was there before.
static void keys_that_nobody_shows_are_a_doubt(void **state)
{
	(void)state;
	int made[2];
	assert_int_equal(pipe(made), 0);
	pid_t child = fork();
	if (child == 0) {
		long key = make_key();
		bool hidden = key > 0 && !syscall(SYS_keyctl, KEYCTL_SETPERM, key, 0x3f000000);
		bool told = write(made[1], &hidden, sizeof(hidden)) == sizeof(hidden);
		while (told)
			pause();
		_exit(1);
	}
	bool hidden = false;
	assert_int_equal(read(made[0], &hidden, sizeof(hidden)), sizeof(hidden));
	struct keys before;
	keys_init(&before, getpid());
	bool all = read_keys(&before);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	close(made[0]);
	close(made[1]);
	keys_deinit(&before);
	if (!hidden)
		skip();
	assert_false(all);
}

static void keys_that_cannot_are_a_doubt_if_they_are_new(void **state)
{
	(void)state;
	struct keys before, after;
	keys_init(&before, getpid());
	long key = make_key();
	if (key < 0) {
		keys_deinit(&before);
		skip();
	}
	assert_int_equal(syscall(SYS_keyctl, KEYCTL_SETPERM, key, 0x01010000), 0); // seen, not read
	keys_init(&after, getpid());
	assert_false(read_keys(&before));
	assert_true(read_keys(&after)); // it was there
	assert_int_equal(met, 0);
	assert_int_equal(syscall(SYS_keyctl, KEYCTL_UNLINK, key, KEY_SPEC_PROCESS_KEYRING), 0);
	keys_deinit(&before);
	keys_deinit(&after);
}

static void keys_that_nobody_shows_are_counted(void **state)
{
	(void)state;
	struct keys before;
	keys_init(&before, getpid());
	long key = make_key();
	if (key < 0) {
		keys_deinit(&before);
		skip();
	}
	assert_int_equal(syscall(SYS_keyctl, KEYCTL_SETPERM, key, 0x08000000), 0); // it can be found, no more
	assert_false(read_keys(&before));
	assert_int_equal(syscall(SYS_keyctl, KEYCTL_UNLINK, key, KEY_SPEC_PROCESS_KEYRING), 0);
	keys_deinit(&before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_that_can_be_read_are_told),
		cmocka_unit_test(keys_that_cannot_are_a_doubt_if_they_are_new),
		cmocka_unit_test(keys_that_nobody_shows_are_counted),
		cmocka_unit_test(keys_that_nobody_shows_are_a_doubt), // last: the kernel takes its time to forget it
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
