// SPDX-License-Identifier: MIT
//
// Events that reach nobody: which tables hint at it, and what P3 says of rows and threads made by hand. The sets that
// it polls are this process's own.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/suspects/complete_turns.h"
#include "engine/suspects/stuck_wait.h"
#include "engine/suspects/unheard.h"
#include "engine/witness/unheard_judge.h"

enum { FDS = 64, OUTER = 40, INNER = 41, ALONE = 42, F = 50, ID = 9 };
static struct ctp_ext ext;
static struct ctp_header header;
static struct ctp_region region;
static struct ctp_fd fds[FDS];
static struct ctp_thread threads[2], copies[2];
static struct unheard_sets sets;
static struct proc_task tasks[2];
static struct registration rows[3];
static int numbers[3] = {OUTER, INNER, ALONE};
static struct suspect s, *who = &s;
static struct inspection l;

static void is_set(int fd)
{
	fds[fd] = (struct ctp_fd){.gen = 1, .life = CTP_FD_OPEN, .kind = CTP_FD_EPOLL, .reg_epfd = -1, .desc = (unsigned)fd};
}

// Thread 0 sleeps in OUTER; thread 1 never polled.
static int begin(void **state)
{
	(void)state;
	memset(fds, 0, sizeof(fds));
	ext = (struct ctp_ext){.thread_high = 2, .fd_high = FDS - 1};
	region = (struct ctp_region){.header = &header, .ext = &ext, .threads = threads, .threads_max = 2, .fds = fds, .fds_max = FDS};
	for (int i = 0; i < 3; i++)
		is_set(numbers[i]);
	threads[0] = (struct ctp_thread){.life = CTP_THREAD_LIVE, .tid = 1, .wait_seq = 3, .wait_call = CTP_IN_EPOLL, .wait_fd = OUTER,
					 .wait_timeout_ns = -1, .polls = 2};
	threads[1] = (struct ctp_thread){.life = CTP_THREAD_LIVE, .tid = 2};
	fds[F] = (struct ctp_fd){.gen = 2, .life = CTP_FD_OPEN, .reg_epfd = ALONE, .reg_events = EPOLLIN};
	s = (struct suspect){.rule = RULE_ABANDONED, .cand = STUCK_WAIT_NO_CAND, .wait = 0, .ready = -1, .c = {.fd = F, .gen = 2, .was = fds[F]},
			     .s = {.id = ID, .since = 100, .nwaits = 1, .waits = {{.fd = F, .gen = 2, .events = EPOLLIN, .how = CTP_WAIT_EAGAIN}}}};
	memcpy(copies, threads, sizeof(copies));
	tasks[0] = (struct proc_task){.tid = 1, .slot = 0, .state = 'S', .nr = SYS_epoll_pwait, .wchan = "ep_poll", .args = {OUTER}};
	tasks[1] = (struct proc_task){.tid = 2, .slot = 1, .state = 'S', .nr = SYS_futex};
	rows[0] = (struct registration){.epfd = ALONE, .tfd = F, .events = EPOLLIN};
	l = (struct inspection){.r = &region, .pid = getpid(), .deadline_ns = UINT64_MAX, .who = &who, .n = 1, .threads = copies, .nthreads = 2,
			  .tasks = {tasks, 2}, .registrations = {.v = rows, .n = 1, .sets = numbers, .nsets = 3, .complete = true}};
	return 0;
}

static int end(void **state)
{
	(void)state;
	unheard_sets_deinit(&sets);
	return 0;
}

static void find(void)
{
	unheard_sets_deinit(&sets);
	unheard_sets_find(&sets, &region);
}

static void a_set_in_which_a_thread_sleeps(void **state)
{
	(void)state;
	find();
	assert_true(sets.known && unheard_polled(&sets, OUTER));
	assert_false(unheard_polled(&sets, INNER));
	assert_true(unheard_hinted(&sets, &fds[F]));
	fds[F].reg_epfd = OUTER;
	assert_false(unheard_hinted(&sets, &fds[F]));
}

static void a_set_within_another(void **state)
{
	(void)state;
	fds[INNER].reg_epfd = OUTER;
	fds[INNER].reg_events = EPOLLIN;
	fds[ALONE].reg_epfd = INNER; // two deep
	fds[ALONE].reg_events = EPOLLIN;
	find();
	assert_true(unheard_polled(&sets, INNER) && unheard_polled(&sets, ALONE));
	fds[INNER].reg_events = 0;
	find();
	assert_false(unheard_polled(&sets, INNER) || unheard_polled(&sets, ALONE));
}

static void another_number_of_the_set(void **state)
{
	(void)state;
	fds[INNER].desc = fds[OUTER].desc;
	find();
	assert_true(unheard_polled(&sets, INNER));
}

static void a_set_that_is_given_to_poll(void **state)
{
	(void)state;
	fds[ALONE].polled = 7;
	find();
	assert_false(unheard_hinted(&sets, &fds[F]));
}

static void a_thread_that_polls_and_is_busy(void **state)
{
	(void)state;
	threads[1].polls = 1;
	find();
	assert_false(sets.known);
	assert_false(unheard_hinted(&sets, &fds[F]));
}

static void registrations_that_lack_something(void **state)
{
	(void)state;
	struct ctp_fd f = {.reg_epfd = -1};
	assert_false(unheard_hinted(&sets, &f));
	f.flags = CTP_FD_REFUSED;
	assert_true(unheard_hinted(&sets, &f));
	f = (struct ctp_fd){.reg_epfd = OUTER, .reg_events = EPOLLIN, .waiter = {ID, 0}};
	assert_false(unheard_hinted(&sets, &f));
	f.reg_events = EPOLLOUT;
	assert_true(unheard_hinted(&sets, &f));
	f.waiter[1] = f.waiter[0];
	f.waiter[0] = 0;
	assert_false(unheard_hinted(&sets, &f));
	f = (struct ctp_fd){.reg_epfd = -1, .waiter = {0, ID}, .polled_out = 5};
	assert_false(unheard_hinted(&sets, &f));
	f.polled = 7; // the writer stands in the set of those that are read
	assert_true(unheard_hinted(&sets, &f));
}

// A thread that naps outside its sets polls each in turn: those that are armed are worth a look where there are several.
static void a_thread_that_polls_several(void **state)
{
	(void)state;
	threads[0].wait_call = CTP_IN_BLOCK;
	fds[F].waiter[0] = ID;
	find();
	assert_false(sets.known || unheard_hinted(&sets, &fds[F]));
	fds[OUTER].flags = fds[ALONE].flags = CTP_FD_ROWS;
	find();
	assert_true(unheard_hinted(&sets, &fds[F]));
	fds[F].waiter[0] = 0;
	assert_false(unheard_hinted(&sets, &fds[F]));
}

static void without_a_row(void **state)
{
	(void)state;
	assert_int_equal(unheard_without_row(&s, true, true), RULE_NONE); // it may be served
	s.ready = 1;
	assert_int_equal(unheard_without_row(&s, true, true), RULE_DELIVERED);
	assert_int_equal(unheard_without_row(&s, true, false), RULE_NONE);
	assert_int_equal(unheard_without_row(&s, false, false), RULE_NONE);
	assert_false(s.unregistered);
	s.s.waits[0].how |= CTP_WAIT_REFUSED;
	assert_int_equal(unheard_without_row(&s, false, false), RULE_REMOVED);
	assert_false(s.unregistered);
	s.s.waits[0].how = CTP_WAIT_REFUSED;
	assert_int_equal(unheard_without_row(&s, false, false), RULE_NONE);
}

// Another replaced its registration by one for room, was told of that, and took it away: no event was for it.
static void an_event_of_anothers_registration(void **state)
{
	static struct ctp_cand cands[2];
	struct ctp_fd *f = &s.c.was;
	(void)state;
	region.cands = cands;
	region.cands_max = ext.cand_count = 2;
	f->reg_epfd = -1;
	f->learned = ID + 1;
	f->event_time = 99;
	assert_false(unheard_told(&region, &s)); // before it suspended
	f->event_time = 120;
	assert_true(unheard_told(&region, &s));
	cands[1] = (struct ctp_cand){.ready = CTP_CAND_READY, .kind = CTP_CAND_DEL, .call = CTP_CALL_EPOLL_DEL, .fd = F, .gen = 2,
				     .was = {.gen = 2, .reg_epfd = ALONE, .reg_events = EPOLLOUT, .reg_time = 110, .event_time = 120}};
	assert_false(unheard_told(&region, &s));
	cands[1].was.reg_events = EPOLLIN | EPOLLOUT;
	assert_true(unheard_told(&region, &s));
	cands[1].was.reg_events = EPOLLOUT;
	cands[1].was.reg_time = 121; // the event came of the one before
	assert_true(unheard_told(&region, &s));
	cands[1].was.reg_time = 110;
	cands[1].was.event_time = 115; // another event has come since
	assert_true(unheard_told(&region, &s));
	cands[1].was.event_time = 120;
	cands[1].gen = 1;
	assert_true(unheard_told(&region, &s));
	cands[1].gen = 2;
	f->learned = ID; // it was resumed by it
	assert_true(unheard_told(&region, &s));
	f->learned = ID + 1;
	f->reg_epfd = ALONE; // registered again
	assert_true(unheard_told(&region, &s));
	f->reg_epfd = -1;
	s.s.waits[0].how = CTP_WAIT_REGISTERED;
	assert_true(unheard_told(&region, &s));
	s.s.waits[0].how = CTP_WAIT_EAGAIN;
	assert_false(unheard_told(&region, &s));
}

static void a_row_that_went_with_its_event(void **state)
{
	(void)state;
	s.ready = 0;
	assert_int_equal(unheard_without_row(&s, false, true), RULE_NONE);
	s.ready = 1;
	assert_int_equal(unheard_without_row(&s, false, true), RULE_REMOVED);
	assert_true(s.unregistered);
	s.s.waits[0].how = CTP_WAIT_REGISTERED; // whoever removed it posted a candidate
	assert_int_equal(unheard_without_row(&s, false, true), RULE_NONE);
	assert_false(s.unregistered);
	s.wait = -1; // it stands where its events resumed it
	assert_int_equal(unheard_without_row(&s, false, true), RULE_REMOVED);
	assert_int_equal(unheard_without_row(&s, true, true), RULE_NONE);
}

static void behind_a_mask(void **state)
{
	(void)state;
	assert_true(unheard_masked(&s, EPOLLERR | EPOLLHUP, true));
	assert_false(unheard_masked(&s, EPOLLIN, true));
	assert_false(unheard_masked(&s, EPOLLONESHOT, true)); // it has fired: CTP005
	assert_false(unheard_masked(&s, EPOLLOUT, false));
	s.ready = 1;
	s.c.was.reg_by = ID;
	assert_true(unheard_masked(&s, EPOLLOUT, false));
	s.c.was.event_time = 200;
	assert_false(unheard_masked(&s, EPOLLOUT, true));
	s.c.was.event_time = 0;
	s.s.waits[0].how = CTP_WAIT_REGISTERED;
	assert_false(unheard_masked(&s, EPOLLOUT, true));
}

static void written_in_vain(void **state)
{
	(void)state;
	s.s.waits[0].how |= CTP_WAIT_REGISTERED | CTP_WAIT_WROTE;
	s.c.was.last_out = ID | CTP_FD_SEVERAL;
	assert_true(unheard_wrote(&s, EPOLLIN));
	assert_false(unheard_wrote(&s, EPOLLIN | EPOLLOUT));
	assert_false(unheard_wrote(&s, EPOLLONESHOT)); // it has fired: CTP005
	s.c.was.last_out = 0; // a connect is under way
	assert_false(unheard_wrote(&s, EPOLLIN));
	assert_false(unheard_connects_in_vain(&s, EPOLLIN | EPOLLOUT));
	assert_false(unheard_connects_in_vain(&s, EPOLLONESHOT));
	s.c.was.kind = CTP_FD_TCP;
	s.c.was.last_in = 0;
	assert_true(unheard_connects_in_vain(&s, EPOLLIN));
	s.c.was.event_time = 200;
	assert_false(unheard_connects_in_vain(&s, EPOLLIN));
	s.c.was.event_time = 0;
	s.c.was.last_in = ID; // it is connected
	assert_false(unheard_connects_in_vain(&s, EPOLLIN));
	s.c.was.last_out = ID;
	s.c.was.learned = s.c.was.last_in = ID; // where it waits for what it reads
	s.c.was.learned_stack = s.s.stack = 7;
	assert_false(unheard_wrote(&s, EPOLLIN));
	s.c.was.learned_stack = 8;
	assert_true(unheard_wrote(&s, EPOLLIN));
	s.c.was.event_time = 200;
	assert_false(unheard_wrote(&s, EPOLLIN));
}

// In what poll or select was given there is no registration: the try tells the direction.
static void written_in_vain_and_polled(void **state)
{
	(void)state;
	s.s.waits[0].events = EPOLLOUT;
	s.c.was.last_out = ID;
	assert_true(unheard_wrote(&s, EPOLLIN));
	assert_false(unheard_wrote(&s, 0)); // in no set
	assert_false(unheard_wrote(&s, EPOLLOUT));
	s.c.was.learned = ID; // room resumed it here before: it never reads
	s.c.was.learned_stack = s.s.stack = 7;
	assert_true(unheard_wrote(&s, EPOLLIN));
	s.c.was.last_in = ID; // what it reads did: it may drop what does not fit
	assert_false(unheard_wrote(&s, EPOLLIN));
	s.ready = 1;
	assert_int_equal(unheard_without_row(&s, false, true), RULE_REMOVED);
	s.c.was.polled = 10000; // it stands in a set, to be read
	assert_int_equal(unheard_without_row(&s, false, true), RULE_NONE);
}

static void read_in_vain_behind_a_mask(void **state)
{
	(void)state;
	assert_true(unheard_wrong_mask(&s, EPOLLPRI)); // of poll or select: it made no registration
	s.s.waits[0] = (struct ctp_wait){.fd = F, .gen = 2, .events = EPOLLPRI, .how = CTP_WAIT_EAGAIN | CTP_WAIT_REGISTERED};
	assert_true(unheard_wrong_mask(&s, EPOLLPRI | EPOLLONESHOT));
	assert_true(unheard_wrong_mask(&s, EPOLLRDHUP));
	assert_false(unheard_wrong_mask(&s, EPOLLPRI | EPOLLRDNORM));
	assert_false(unheard_wrong_mask(&s, EPOLLRDHUP | EPOLLOUT));
	assert_false(unheard_wrong_mask(&s, EPOLLONESHOT)); // it has fired: CTP005
	s.c.was.flags = CTP_FD_RESTORED; // it was paused before, and went on
	assert_false(unheard_wrong_mask(&s, EPOLLRDHUP));
	s.c.was.flags = 0;
	s.c.was.learned = ID; // urgent data resumed it here before
	s.c.was.learned_stack = s.s.stack = 7;
	assert_false(unheard_wrong_mask(&s, EPOLLPRI));
	s.c.was.last_in = ID; // or what it has read
	assert_true(unheard_wrong_mask(&s, EPOLLPRI));
	s.c.was.last_in |= CTP_FD_SEVERAL;
	assert_false(unheard_wrong_mask(&s, EPOLLPRI));
	s.c.was.learned_stack = 8;
	s.s.waits[0].how |= CTP_WAIT_WROTE;
	assert_false(unheard_wrong_mask(&s, EPOLLPRI));
	s.s.waits[0].how = CTP_WAIT_REGISTERED; // a watcher that never read
	assert_false(unheard_wrong_mask(&s, EPOLLPRI));
}

static enum holds judged(unsigned n, unsigned needed, int epfd, uint32_t events)
{
	memset(s.a, 0, sizeof(s.a));
	unheard_judge(&l, &s, &(struct unheard_rows){n, needed, epfd, events});
	return s.a[PROOF_P3].holds;
}

static void p3_of_a_mask(void **state)
{
	(void)state;
	s.rule = RULE_REMOVED;
	assert_int_equal(judged(1, 0, ALONE, EPOLLOUT), HOLDS_TRUE);
	assert_int_equal(judged(1, 1, ALONE, EPOLLIN), HOLDS_FALSE);
	assert_int_equal(judged(1, 0, ALONE, EPOLLONESHOT), HOLDS_FALSE);
	assert_int_equal(judged(0, 0, -1, 0), HOLDS_FALSE);
	s.wrong_mask = true;
	assert_int_equal(judged(1, 0, ALONE, EPOLLPRI), HOLDS_TRUE);
	assert_non_null(strstr(s.a[PROOF_P3].text, "EPOLLPRI, not EPOLLIN"));
	assert_int_equal(judged(1, 1, ALONE, EPOLLIN), HOLDS_FALSE);
	s.wrong_mask = false;
	s.unregistered = true;
	assert_int_equal(judged(0, 0, -1, 0), HOLDS_TRUE);
	assert_int_equal(judged(1, 0, ALONE, EPOLLOUT), HOLDS_FALSE); // it has a row again
	int sink[2];
	assert_int_equal(pipe2(sink, O_NONBLOCK), 0);
	rows[1] = (struct registration){.epfd = OUTER, .tfd = sink[1], .events = EPOLLOUT};
	l.registrations.n = 2;
	s.c.gen = 2;
	assert_int_equal(judged(0, 0, -1, 0), HOLDS_TRUE);
	while (write(sink[1], "full", 4) > 0)
		;
	assert_int_equal(judged(0, 0, -1, 0), HOLDS_OPEN); // what it would read has no place to go
	s.unregistered = false;
	assert_int_equal(judged(1, 0, ALONE, EPOLLERR | EPOLLHUP), HOLDS_TRUE);
	s.masked = true;
	assert_int_equal(judged(1, 0, ALONE, EPOLLERR | EPOLLHUP), HOLDS_OPEN);
	s.masked = false;
	s.unregistered = true;
	rows[1].events = EPOLLIN;
	assert_int_equal(judged(0, 0, -1, 0), HOLDS_TRUE);
	l.registrations.n = 1;
	close(sink[0]);
	close(sink[1]);
	strcpy(l.hidden, "a process that cannot be looked into");
	assert_int_equal(judged(0, 0, -1, 0), HOLDS_OPEN);
	l.hidden[0] = '\0';
	s.unregistered = false;
	s.masked = true;
	assert_int_equal(judged(1, 0, ALONE, EPOLLERR | EPOLLHUP), HOLDS_TRUE);
	s.masked = false;
	s.s.waits[0].how |= CTP_WAIT_REFUSED;
	assert_int_equal(judged(0, 0, -1, 0), HOLDS_TRUE);
	tasks[1].nr = SYS_read; // a thread waits for it by itself
	tasks[1].args[0] = F;
	assert_int_equal(judged(0, 0, -1, 0), HOLDS_FALSE);
}

// Whether events wait in it the kernel says: a set of this process, under a number from above.
static void p3_of_a_set(void **state)
{
	(void)state;
	struct epoll_event ev = {.events = EPOLLIN};
	int made = epoll_create1(EPOLL_CLOEXEC), event = eventfd(0, EFD_CLOEXEC);
	assert_int_equal(dup2(made, ALONE), ALONE);
	assert_int_equal(epoll_ctl(ALONE, EPOLL_CTL_ADD, event, &ev), 0);
	assert_int_equal(judged(1, 1, ALONE, EPOLLIN), HOLDS_FALSE); // nothing waits there
	eventfd_write(event, 1);
	assert_int_equal(judged(1, 1, ALONE, EPOLLIN), HOLDS_TRUE);
	assert_int_equal(judged(1, 0, ALONE, EPOLLOUT), HOLDS_FALSE);
	copies[0].wait_timeout_ns = 1000; // it may come to this one next
	assert_int_equal(judged(1, 1, ALONE, EPOLLIN), HOLDS_OPEN);
	copies[0].wait_timeout_ns = 60000000000;
	s.found_ns = proc_now_ns();
	assert_int_equal(judged(1, 1, ALONE, EPOLLIN), HOLDS_OPEN);
	assert_false(s.put_off);
	s.found_ns -= 3000000000; // so long nobody has come to it, and the timeout is no tick
	assert_int_equal(judged(1, 1, ALONE, EPOLLIN), HOLDS_TRUE);
	assert_true(s.put_off);
	copies[0].wait_timeout_ns = -1;
	tasks[0].state = 'R';
	assert_int_equal(judged(1, 1, ALONE, EPOLLIN), HOLDS_OPEN);
	tasks[0].state = 'S';
	tasks[0].args[0] = ALONE;
	assert_int_equal(judged(1, 1, ALONE, EPOLLIN), HOLDS_FALSE);
	tasks[0].args[0] = OUTER;
	rows[l.registrations.n++] = (struct registration){.epfd = OUTER, .tfd = ALONE, .events = EPOLLIN};
	assert_int_equal(judged(1, 1, ALONE, EPOLLIN), HOLDS_FALSE);
	rows[1].events = 0;
	assert_int_equal(judged(1, 1, ALONE, EPOLLIN), HOLDS_TRUE);
	close(ALONE);
	close(made);
	close(event);
}

// Of the end of a pipe that is read, room is never told.
static void waits_for_room_that_never_comes(void **state)
{
	(void)state;
	int end[2];
	bool watch = false;
	assert_int_equal(pipe2(end, O_NONBLOCK), 0);
	s.s.waits[0] = (struct ctp_wait){.fd = F, .gen = 2, .events = EPOLLOUT, .how = CTP_WAIT_EAGAIN | CTP_WAIT_REGISTERED};
	s.c.fd = end[0];
	assert_false(unheard_find_wrong(&s, &sets, getpid(), EPOLLOUT | EPOLLERR, &watch));
	assert_true(watch); // it may be so soon
	assert_int_equal(write(end[1], "line", 4), 4);
	assert_true(unheard_find_wrong(&s, &sets, getpid(), EPOLLOUT | EPOLLERR, &watch));
	assert_true(s.wrong_mask && s.ready == 1);
	s.c.fd = end[1];
	s.wrong_mask = false;
	assert_false(unheard_find_wrong(&s, &sets, getpid(), EPOLLOUT | EPOLLERR, &watch));
	close(end[0]);
	close(end[1]);
}

// An end counts where its event came after a read in vain.
static void an_end_is_left_unread(void **state)
{
	(void)state;
	int end[2];
	assert_int_equal(pipe2(end, O_NONBLOCK), 0);
	s.c.fd = end[0];
	s.c.was.event_time = 200;
	assert_int_equal(unheard_unread(&s, getpid()), 0);
	assert_int_equal(write(end[1], "line", 4), 4);
	assert_int_equal(unheard_unread(&s, getpid()), 4);
	close(end[1]);
	assert_int_equal(unheard_unread(&s, getpid()), 4);
	char line[8];
	assert_int_equal(read(end[0], line, sizeof(line)), 4);
	assert_int_equal(unheard_unread(&s, getpid()), 1);
	s.c.was.event_time = 50;
	assert_int_equal(unheard_unread(&s, getpid()), 0);
	s.c.was.event_time = 200;
	s.s.waits[0].how = CTP_WAIT_REGISTERED;
	assert_int_equal(unheard_unread(&s, getpid()), 0);
	close(end[0]);
}

// A loop that naps outside its sets: what it passes by for long it does not come to.
static void p3_of_a_set_that_is_passed_by(void **state)
{
	(void)state;
	struct epoll_event ev = {.events = EPOLLIN};
	int made = epoll_create1(EPOLL_CLOEXEC), event = eventfd(1, EFD_CLOEXEC);
	struct complete_turns_mark marks[2] = {{.uses = 1, .passed = 9}, {.uses = 1}};
	struct complete_turns loops = {marks, 2};
	assert_int_equal(dup2(made, ALONE), ALONE);
	assert_int_equal(epoll_ctl(ALONE, EPOLL_CTL_ADD, event, &ev), 0);
	s.c.fd = rows[0].tfd = event;
	s.c.epoch = 5;
	copies[0].wait_call = CTP_IN_BLOCK;
	tasks[0].nr = SYS_clock_nanosleep;
	l.loops = &loops;
	s.found_ns = proc_now_ns();
	assert_int_equal(judged(1, 1, ALONE, EPOLLIN), HOLDS_OPEN); // it may come to it yet
	s.found_ns -= 3000000000;
	assert_int_equal(judged(1, 1, ALONE, EPOLLIN), HOLDS_TRUE);
	assert_true(s.put_off);
	s.c.was.event_time = 200; // it did
	assert_int_equal(judged(1, 1, ALONE, EPOLLIN), HOLDS_OPEN);
	s.c.was.event_time = 0;
	marks[0].passed = 4; // it has not turned since
	assert_int_equal(judged(1, 1, ALONE, EPOLLIN), HOLDS_OPEN);
	close(ALONE);
	close(made);
	close(event);
}

// What is to be read speaks for F where nothing else is sure; not if it may want something else, or less than a
// second.
static void what_was_left(void **state)
{
	enum { SECOND_NS = 1000000000 };
	(void)state;
	s.c.was.reg_time = 50;
	assert_true(unheard_may_be_left(&s, false));
	assert_false(unheard_may_be_left(&s, true)); // that is said better
	s.s.nwaits = 2;
	assert_false(unheard_may_be_left(&s, false));
	s.s.nwaits = 1;
	s.s.waits[0].events = EPOLLOUT;
	assert_false(unheard_may_be_left(&s, false));
	s.s.waits[0].events = EPOLLIN;
	s.c.was.reg_time = 0;
	assert_false(unheard_may_be_left(&s, false)); // it was never registered
	s.may_be_left = true;
	unheard_note_left(&s, 5, 10);
	unheard_note_left(&s, 5, SECOND_NS);
	assert_false(s.left);
	unheard_note_left(&s, -1, 10 + SECOND_NS); // not known now
	assert_false(s.left);
	unheard_note_left(&s, 5, 10 + SECOND_NS);
	assert_true(s.left);
	unheard_note_left(&s, -1, 20 + SECOND_NS);
	assert_true(s.left);
	unheard_note_left(&s, 0, 30 + SECOND_NS); // somebody has read it
	assert_false(s.left || s.left_ns);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(a_set_in_which_a_thread_sleeps), TEST(a_set_within_another), TEST(another_number_of_the_set),
		TEST(a_set_that_is_given_to_poll), TEST(a_thread_that_polls_and_is_busy), TEST(registrations_that_lack_something),
		TEST(without_a_row), TEST(a_row_that_went_with_its_event), TEST(behind_a_mask), TEST(written_in_vain),
		TEST(written_in_vain_and_polled), TEST(a_thread_that_polls_several), TEST(waits_for_room_that_never_comes),
		TEST(an_end_is_left_unread), TEST(p3_of_a_set_that_is_passed_by), TEST(read_in_vain_behind_a_mask), TEST(p3_of_a_mask), TEST(p3_of_a_set),
		TEST(what_was_left), TEST(an_event_of_anothers_registration),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
