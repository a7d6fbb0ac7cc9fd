// SPDX-License-Identifier: MIT
//
// sets.jsonl as it is read: every kind of line, one that was cut off, and one
// of a kind that is not known.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "trace/looks/descriptors.h"
#include "trace/looks/set_looks.h"

static const char LINES[] =
	"{\"v\":1,\"what\":\"queue\",\"coroutine\":3,\"changes\":6,\"fd\":7,\"gen\":1,\"out\":true,\"ready\":false,\"led\":true,\"writer\":88,\"child\":true,\"sleeps\":true,\"call\":\"read\",\"wchan\":\"pipe_read\",\"still_ns\":7}\n"
	"{\"v\":1,\"what\":\"unread\",\"fd\":5,\"gen\":2,\"bytes\":9}\n"
	"{\"v\":1,\"what\":\"stale\",\"epfd\":3,\"epgen\":1,\"fd\":8,\"gen\":4,\"events\":1,\"data\":-1,\"twin\":true}\n"
	"{\"v\":1,\"what\":\"shared\",\"epfd\":3,\"epgen\":1,\"pid\":99,\"began_ns\":12,\"fd\":6,\"rows\":2,\"waits\":true}\n"
	"{\"v\":1,\"what\":\"thread\",\"tid\":70,\"slot\":2,\"seq\":5,\"entity\":3,\"native\":1,\"in\":\"join\",\"of\":71,\"stack\":[\"0x10\",\"0x20\"]}\n"
	"{\"v\":1,\"what\":\"thread\",\"tid\":71,\"slot\":3,\"seq\":9,\"entity\":0,\"native\":0,\"in\":\"loop\",\"all\":true,\"epfd\":4,"
	"\"fds\":[[7,1,true,false],[8,2,false,true]]}\n"
	"{\"v\":1,\"what\":\"thread\",\"tid\":72,\"slot\":4,\"seq\":1,\"in\":\"something else\"}\n"
	"{\"v\":1,\"what\":\"circle\",\"firm\":true,\"waits\":[{\"coroutine\":4,\"changes\":6,\"hub\":\"0x55aa\",\"name\":\"tables+0x18\"},"
	"{\"coroutine\":5,\"changes\":8,\"hub\":\"0x55cc\"}]}\n"
	"{\"v\":1,\"what\":\"held\",\"by\":9,\"mutex\":true,\"waits\":[{\"coroutine\":6,\"changes\":2,\"hub\":\"0x55ee\"}]}\n"
	"{\"v\":1,\"what\":\"queued\",\"waits\":[{\"coroutine\":8,\"changes\":4,\"hub\":\"0x66\"}]}\n"
	"{\"v\":1,\"what\":\"filled\",\"parked\":[[9,4],[10,2]],\"here\":true,\"at\":\"0x55f0\",\"name\":\"jobs+0x10\",\"apart\":32,\"parks\":7,"
	"\"moves\":5,\"late_ns\":3,\"empty_ns\":11,\"since_ns\":12,\"ns\":13}\n"
	"{\"v\":1,\"what\":\"main\",\"parked\":[[5,8],[6,10]]}\n"
	"{\"v\":1,\"what\":\"rest\",\"parked\":[[7,12]]}\n"
	"{\"v\":2,\"what\":\"something else\"}\n"
	"{\"v\":1,\"what\":\"look\",\"ns\":77,\"look\":\"live\",\"complete\":true,\"handlers\":true,\"evidence\":[{\"id\":\"P0\",\"holds\":true,"
	"\"text\":\"a\"},{\"id\":\"P5\",\"holds\":null,\"text\":\"b\"},{\"id\":\"P6b\",\"holds\":false,\"text\":\"c\"}]}\n"
	"{\"v\":1,\"what\":\"unread\",\"fd";

static int write_text(char path[32], const char *text, size_t bytes)
{
	snprintf(path, 32, "/tmp/ctp-sets.XXXXXX");
	int fd = mkstemp(path);
	ssize_t n = fd < 0 ? -1 : write(fd, text, bytes);
	close(fd);
	return n == (ssize_t)bytes ? 0 : -1;
}

static int write_lines(char path[32])
{
	return write_text(path, LINES, sizeof(LINES) - 1);
}

// descriptors.jsonl: a name counts for its generation, and a mere number of the kernel's is none.
static void reads_names(void **state)
{
	static const char text[] = "{\"fd\":9,\"gen\":2,\"name\":\"[::1]:80 <- [::1]:4\"}\n{\"fd\":7,\"gen\":1,\"name\":\"socket:[5]\"}\n"
				   "{\"fd\":3,\"gen\":1,\"name\":\"/run/x.sock\"}\n"
				   "{\"fd\":5,\"gen\":3,\"name\":\"anon_inode:[timerfd]\",\"ns\":6,\"disarmed\":true}\n"
				   "{\"fd\":8,\"gen\":2,\"name\":\"pipe:[6]\",\"ns\":5,\"ready\":true,\"unread\":7}\n{\"fd\":4,\"gen\":1,\"na";
	char path[32];
	struct descriptors d = { 0 };
	(void)state;
	assert_int_equal(write_text(path, text, sizeof(text) - 1), 0);
	assert_int_equal(descriptors_read(&d, AT_FDCWD, path), 0);
	unlink(path);
	assert_string_equal(descriptors_name(&d, 9, 2), "[::1]:80 <- [::1]:4");
	assert_string_equal(descriptors_name(&d, 3, 1), "/run/x.sock");
	assert_null(descriptors_name(&d, 9, 1));
	assert_null(descriptors_name(&d, 7, 1));
	assert_null(descriptors_name(&d, 4, 1));
	assert_null(descriptors_name(&d, 8, 2));
	const struct descriptor *is = descriptors_find(&d, 8, 2);
	assert_non_null(is);
	assert_true(is->asked && is->ready && is->unread == 7 && is->ns == 5);
	assert_null(descriptors_find(&d, 8, 1));
	is = descriptors_find(&d, 9, 2);
	assert_true(is && !is->asked && !is->disarmed);
	is = descriptors_find(&d, 5, 3);
	assert_true(is && is->disarmed && !is->asked && is->ns == 6);
	assert_int_equal(d.bad_lines, 1);
	descriptors_deinit(&d);
}

static void reads_every_kind(void **state)
{
	(void)state;
	char path[32];
	struct slices_set stacks = { 0 };
	struct set_looks s = { 0 };
	assert_int_equal(write_lines(path), 0);
	assert_int_equal(set_looks_read(&s, &stacks, AT_FDCWD, path), 0);
	unlink(path);
	assert_true(s.looked);
	assert_int_equal(s.ns, 77);
	assert_true(s.handlers);
	assert_int_equal(s.queues[0].writer, 88);
	assert_true(s.queues[0].child && s.queues[0].sleeps);
	assert_string_equal(s.queues[0].call, "read");
	assert_string_equal(s.queues[0].wchan, "pipe_read");
	assert_int_equal(s.queues[0].still_ns, 7);
	assert_int_equal(s.nthreads, 2);
	assert_int_equal(s.ncircles, 1);
	assert_true(s.circles[0].firm);
	assert_int_equal(s.circles[0].n, 2);
	assert_string_equal(s.waits[0].name, "tables+0x18");
	assert_int_equal(s.waits[1].coroutine, 5);
	assert_int_equal(s.waits[1].changes, 8);
	assert_int_equal(s.waits[1].hub, 0x55cc);
	assert_null(s.waits[1].name);
	assert_int_equal(s.nheld, 1);
	assert_int_equal(s.held[0].by, 9);
	assert_true(s.held[0].mutex);
	assert_int_equal(s.held[0].n, 1);
	assert_int_equal(s.waits[s.held[0].waits].coroutine, 6);
	assert_int_equal(s.threads[0].in, SET_JOIN);
	assert_int_equal(s.threads[0].of, 71);
	assert_int_equal(s.threads[0].seq, 5);
	assert_int_equal(s.threads[0].stack, SLICES_STACK);
	assert_int_equal(stacks.stacks[0].n, 2);
	assert_int_equal(stacks.stacks[0].pcs[1], 0x20);
	assert_int_equal(s.threads[1].in, SET_LOOP);
	assert_true(s.threads[1].all && s.threads[1].epfd == 4 && s.threads[1].nends == 2 && !s.threads[1].stack);
	assert_true(s.ends[s.threads[1].ends].in && !s.ends[s.threads[1].ends].out && s.ends[1].fd == 8 && s.ends[1].gen == 2 && s.ends[1].out);
	slices_deinit(&stacks);
	assert_int_equal(s.nqueues, 1);
	assert_int_equal(s.queues[0].coroutine, 3);
	assert_true(s.queues[0].out && !s.queues[0].ready && s.queues[0].led);
	assert_int_equal(s.nunread, 1);
	assert_int_equal(s.unread[0].bytes, 9);
	assert_int_equal(s.nstale, 1);
	assert_true(s.stale[0].twin);
	assert_int_equal(s.stale[0].data, UINT64_MAX);
	assert_int_equal(s.nshared, 1);
	assert_int_equal(s.shared[0].pid, 99);
	assert_true(s.shared[0].waits);
	assert_true(s.nqueued == 1 && s.queued[0].n == 1 && s.waits[s.queued[0].waits].coroutine == 8);
	assert_int_equal(s.nfilled, 1);
	const struct set_filled *f = &s.filled[0];
	assert_true(f->at == 0x55f0 && f->apart == 32 && f->parks == 7 && f->moves == 5 && f->late_ns == 3);
	assert_true(f->empty_ns == 11 && f->since_ns == 12 && f->ns == 13 && f->n == 2 && f->here);
	assert_string_equal(f->name, "jobs+0x10");
	assert_int_equal(s.readers.v[f->parked + 1].coroutine, 10);
	assert_true(s.parked.n == 2 && s.parked.v[1].coroutine == 6 && s.parked.v[1].changes == 10);
	assert_true(s.resting.n == 1 && s.resting.v[0].coroutine == 7 && s.resting.v[0].changes == 12);
	assert_int_equal(s.items[PROOF_P0].holds, HOLDS_TRUE);
	assert_int_equal(s.items[PROOF_P5].holds, HOLDS_OPEN);
	assert_int_equal(s.items[PROOF_P6B].holds, HOLDS_FALSE);
	assert_string_equal(s.items[PROOF_P6B].text, "c");
	assert_int_equal(s.bad_lines, 2);
	set_looks_deinit(&s);
}

static void no_file_is_an_empty_one(void **state)
{
	(void)state;
	struct set_looks s = { 0 };
	assert_int_equal(set_looks_read(&s, &(struct slices_set){ 0 }, AT_FDCWD, "/nonexistent/sets.jsonl"), 0);
	assert_false(s.looked);
	set_looks_deinit(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(reads_names), cmocka_unit_test(reads_every_kind), cmocka_unit_test(no_file_is_an_empty_one) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
