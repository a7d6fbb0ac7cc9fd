// SPDX-License-Identifier: MIT
//
// Whose messages a System V queue may hold: lines as the kernel writes them, and those of real queues.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/stored/queues_ipc.c"

#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/wait.h>
#include <time.h>

enum { PID = 4711, OTHER = 12, BEGAN = 1700000000 };

static bool counts(unsigned messages, int last, long sent)
{
	char line[200];
	int id = 0;
	snprintf(line, sizeof(line), "         0 %10d  600  %10u %10u %5d %5d  1000  1000  1000  1000 %10ld %10d %10ld", 37,
		 8 * messages, messages, last, 0, sent, 0, sent);
	bool may = may_be_ours(line, PID, BEGAN, &id);
	assert_int_equal(id, 37);
	return may;
}

static void lines(void **state)
{
	int id;
	(void)state;
	assert_false(counts(0, PID, BEGAN + 9)); // nothing is in it
	assert_true(counts(1, PID, BEGAN + 9));
	assert_false(counts(1, OTHER, BEGAN + 9)); // the one message is another's
	assert_true(counts(2, OTHER, BEGAN + 9));  // the first may be ours
	assert_true(counts(2, OTHER, BEGAN - 1));  // as exact as the times are
	assert_false(counts(2, OTHER, BEGAN - 60)); // all were there before
	assert_true(counts(2, PID, BEGAN - 60));    // a clock that was set back, perhaps
	assert_false(may_be_ours("       key      msqid perms      cbytes       qnum lspid lrpid   uid", PID, BEGAN, &id));
}

static void send_two(int queue)
{
	struct {
		long type;
		char text[8];
	} message = {.type = 1, .text = "pointer"};
	for (int i = 0; i < 2; i++)
		assert_int_equal(msgsnd(queue, &message, sizeof(message.text), 0), 0);
}

// Of a queue of this process's, into which its child has sent.
static bool real(int queue, int64_t began_s)
{
	char *text, *save = NULL;
	bool seen = false, may = false;
	assert_int_equal(proc_slurp(getpid(), "../sysvipc/msg", &text, NULL), 0);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		int id = -1;
		bool ours = may_be_ours(line, getpid(), began_s, &id);
		if (id == queue) {
			seen = true;
			may = ours;
		}
	}
	free(text);
	assert_true(seen);
	return may;
}

static void real_queues(void **state)
{
	int queue = msgget(IPC_PRIVATE, 0600), status;
	(void)state;
	if (queue < 0)
		skip(); // the kernel has none, or no more
	struct inspection l = {.pid = getpid()};
	memory_of_process(&l.memory, getpid());
	pid_t child = fork();
	if (!child) {
		send_two(queue);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	bool before = real(queue, time(NULL) + 60), since = real(queue, began(&l));
	msgctl(queue, IPC_RMID, NULL);
	memory_close(&l.memory);
	assert_int_equal(status, 0);
	assert_false(before);
	assert_true(since);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines),
		cmocka_unit_test(real_queues),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
