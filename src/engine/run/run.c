// SPDX-License-Identifier: MIT
//
// One thread and one loop: a turn, then a sleep on the regions' futexes. The sleep is short
// while the program is busy, since a ring must not fill up, and there is none while one fills
// quickly. It grows to 20 ms, and further if nothing has happened for seconds: then a ring that
// is half full, a request or a signal (whose handler changes the word) ends it. Signals are
// passed on to the first process, and after its end to all that are left.
#include "engine/run/run.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/living.h"
#include "ctp/seq.h"
#include "engine/target/pidfd.h"
#include "engine/control/control.h"
#include "engine/session/finish.h"
#include "engine/run/group.h"
#include "engine/session/reap.h"
#include "engine/session/snapshots.h"
#include "engine/session/turn.h"
#include "engine/session/waiters.h"
#include "engine/target/log.h"
#include "engine/target/regs.h"
#include "engine/target/signals.h"

#define SLEEP_LEAST_NS 1000000
#define SLEEP_MOST_NS 20000000
#define SLICE_NS 200000
#define SLICE_NOT_INHERITED 1 // SCHED_FLAG_RESET_ON_FORK
#define SLEEP_IDLE_NS 125000000
#define IDLE_AFTER_NS 3000000000ULL
#define FORGET_NS 2000000000ULL
#define CHILDREN_NS 1000000000ULL // to look without a word of the kernel's
#define KILL_AFTER_NS 2000000000ULL
#define CONT_AFTER_NS 50000000ULL
#define STOP_WITHIN_NS 1000000000ULL // of the terminal's signal: a handler may do something first

// The words to sleep on, with the values that they had before the rings were read.
struct wakes {
	uint32_t n;
	unsigned regions; // session.regions at that time
	bool more;        // than can be waited for
	struct futex_waitv v[FUTEX_WAITV_MAX];
};

struct loop {
	struct session *s;
	struct sock *sock;
	struct wakes wakes;
	bool no_waitv;
	uint64_t sleep_ns;
	uint64_t turns;
	uint64_t busy_ns;          // when the program last did something
	uint64_t forget_ns;        // when the region's pages are next given back
	uint64_t children_ns;      // when children are next looked at, whatever happens
	uint64_t term_at, kill_at; // of --timeout; 0: none
	struct run_end end;
	uint64_t stop_asked; // when a terminal's stop signal reached us; 0: none
	uint64_t cont_at;    // when SIGCONT reached us; 0: none, or it has gone on
	bool stopped;        // the program stands still, and so should we if its terminal wants it
	struct group group;
};

static void note_wake(struct wakes *w, uint32_t *word)
{
	w->more |= w->n == FUTEX_WAITV_MAX;
	if (w->n < FUTEX_WAITV_MAX)
		w->v[w->n++] = (struct futex_waitv){
			.val = ctp_load32(word), .uaddr = (uintptr_t)word, .flags = FUTEX_32};
}

// Before the look: what changes after it ends the sleep.
static void note_wakes(struct loop *l)
{
	const struct session *s = l->s;
	l->wakes.n = 0;
	l->wakes.regions = s->regions;
	l->wakes.more = false;
	note_wake(&l->wakes, &s->first.region.ext->wake);
	for (size_t i = 0; i < s->n_processes; i++)
		if (!s->processes[i]->ended && s->processes[i]->region != &s->first.region)
			note_wake(&l->wakes, &s->processes[i]->region->ext->wake);
}

static void say_waiting(const struct session *s, uint32_t waiting)
{
	for (size_t i = 0; i < s->n_processes; i++)
		ctp_store32(&s->processes[i]->region->ext->waiting, waiting);
}

// Sleeps until one of the words changes. False if the kernel cannot do that.
static bool sleep_on_all(struct wakes *w, uint64_t ns)
{
	struct timespec end;
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_nsec += (long)ns;
	end.tv_sec += end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	return syscall(SYS_futex_waitv, w->v, w->n, 0, &end, CLOCK_MONOTONIC) >= 0 ||
	       (errno != ENOSYS && errno != EPERM);
}

static void sleep_a_while(struct loop *l)
{
	struct wakes *w = &l->wakes;
	if (signals_pending() || l->s->late)
		return;
	if (w->regions != l->s->regions) // a new region's word is not among those yet
		return;
	say_waiting(l->s, 1);
	if (w->n > 1 && !w->more && !l->no_waitv)
		l->no_waitv = !sleep_on_all(w, l->sleep_ns);
	if (w->n == 1 || w->more || l->no_waitv) {
		bool blind = w->n > 1 && l->sleep_ns > SLEEP_LEAST_NS;
		struct timespec ts = {.tv_nsec = (long)(blind ? SLEEP_LEAST_NS : l->sleep_ns)};
		syscall(SYS_futex, (uint32_t *)(uintptr_t)w->v[0].uaddr, FUTEX_WAIT, (uint32_t)w->v[0].val,
			&ts, NULL, 0);
	}
	say_waiting(l->s, 0);
}

static void turn(struct loop *l)
{
	bool busy = turn_take(l->s);
	uint64_t now = clock_mono_ns();
	l->busy_ns = busy || !l->busy_ns ? now : l->busy_ns;
	bool idle = now - l->busy_ns >= IDLE_AFTER_NS && session_may_idle(l->s);
	uint64_t most = idle ? SLEEP_IDLE_NS : SLEEP_MOST_NS;
	l->sleep_ns = busy ? SLEEP_LEAST_NS : l->sleep_ns * 5 / 4;
	l->sleep_ns = l->sleep_ns < most ? l->sleep_ns : most;
	if (session_exits(l->s)) // exit handlers run: a guest with threads does not wake us
		l->sleep_ns = SLEEP_LEAST_NS;
	if (now >= l->forget_ns) {
		if (l->forget_ns)
			session_forget(l->s);
		l->forget_ns = now + FORGET_NS;
	}
	if (l->sock && l->turns++ % 8 == 0)
		sock_accept(l->sock);
	control_turn(l->s);
}

static pid_t first_pid(const struct loop *l)
{
	return session_first(l->s)->pid;
}

// To the first process; to all that are left if it has ended, or `all`.
static void forward(struct loop *l, int sig, bool all)
{
	const struct session *s = l->s;
	const struct process *first = session_first(s);
	if (!first->ended && (first->pidfd < 0 || pidfd_signal(first->pidfd, sig)))
		kill(first->pid,
		     sig); // a child of ours that has not been waited for: its number is no other's
	for (size_t i = 1; i < s->n_processes && (all || first->ended); i++)
		if (s->processes[i]->descent == DESCENT_PROVEN)
			pidfd_signal(s->processes[i]->pidfd, sig);
}

// A signal that ends a program has gone to all that may have one: the others are not waited for.
static void detach(struct loop *l, bool all)
{
	if (all || session_first(l->s)->ended)
		reap_detach(l->s);
}

static void terminate(struct loop *l, bool all)
{
	struct session *s = l->s;
	signals_hurry(l->end.timed_out); // nobody waits for that look, but who sends SIGTERM meanwhile
	turn_snapshot(s, l->end.timed_out ? "timeout" : "term");
	signals_hurry(false);
	for (size_t i = 0; i < s->n_processes && (i == 0 || all || session_first(s)->ended); i++)
		if (!s->processes[i]->ended && s->processes[i]->descent == DESCENT_PROVEN)
			session_sigterm_sent(s, s->processes[i], clock_mono_ns());
	if (all || !group_got(&l->group, SIGTERM, clock_mono_ns()))
		forward(l, SIGTERM, all);
	if (!all)
		detach(l, false);
}

// A shell continues the whole job, so the program has been continued already, and may
// have been stopped again by its terminal since: then it must stay so.
static void pass_cont(struct loop *l)
{
	uint64_t now = clock_mono_ns();
	if (signals_take(SIGCONT, first_pid(l)).sent && !group_got(&l->group, SIGCONT, now))
		l->cont_at = now;
	if (!l->cont_at)
		return;
	bool stands = pidfd_state(living_of(first_pid(l))) == 'T';
	if (stands && !l->stop_asked && now - l->cont_at < CONT_AFTER_NS)
		return; // is it a stop that we have not heard of yet?
	if (!stands || !l->stop_asked)
		forward(l, SIGCONT, false);
	l->cont_at = 0;
}

static void pass_signals(struct loop *l)
{
	static const int plain[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGUSR1, SIGUSR2,   SIGWINCH,
				    SIGTSTP, SIGTTIN, SIGTTOU, SIGALRM, SIGVTALRM, SIGPROF,
				    SIGIO,   SIGPWR,  SIGXCPU, SIGURG,  SIGSTKFLT};
	for (unsigned i = 0; i < sizeof(plain) / sizeof(*plain); i++) {
		int sig = plain[i];
		struct signals_news n = signals_take(sig, first_pid(l));
		if (n.sent && sig == SIGUSR2 && l->s->options->flight_bytes)
			snapshots_take(l->s, "request");
		else if (n.sent && !group_got(&l->group, sig, clock_mono_ns()))
			forward(l, sig, false);
		if (n.sent && (sig == SIGHUP || sig == SIGINT || sig == SIGQUIT))
			detach(l, false);
		if (sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU)
			l->stop_asked = n.sent || n.kernel ? clock_mono_ns() : l->stop_asked;
	}
	pass_cont(l);
	struct signals_news term = signals_take(SIGTERM, first_pid(l));
	if (term.sent && !l->end.timed_out)
		terminate(l, false);
	else if (term.sent && !group_got(&l->group, SIGTERM, clock_mono_ns()))
		forward(l, SIGTERM, false); // it has been told already, after the look
	group_turn(&l->group, clock_mono_ns());
}

// Where the program stopped because its terminal's job was, so do we: the
// shell waits for it. Stopped by hand, it is its own affair. The two news come
// in any order.
static void mirror_stop(struct loop *l)
{
	if (l->stop_asked && clock_mono_ns() - l->stop_asked > STOP_WITHIN_NS)
		l->stop_asked = 0;
	if (!l->stopped || !l->stop_asked || session_first(l->s)->ended || getpgid(first_pid(l)) != getpgrp())
		return;
	l->stop_asked = 0;
	l->stopped = false;
	raise(SIGSTOP);
}

static void check_child(struct loop *l)
{
	int status;
	pid_t pid, first = first_pid(l);
	while ((pid = waitpid(first, &status, WNOHANG | WUNTRACED | WCONTINUED)) == first) {
		if (WIFSTOPPED(status) && regs_stopped(first, status >> 8))
			continue;
		if (WIFSTOPPED(status) || WIFCONTINUED(status)) {
			l->stopped = WIFSTOPPED(status);
			continue;
		}
		l->end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
		l->end.status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
		turn_ended(l->s, l->end.signal ? "signal" : "exit",
			   l->end.signal ? l->end.signal : l->end.status);
		l->children_ns = 0; // regs_reap stopped at it: others may have died behind it
		return;
	}
	if (pid < 0 && errno == ECHILD) { // somebody took its status away
		l->end.status = 125;
		turn_ended(l->s, "exit", l->end.status);
	}
}

// The kernel tells of an end, a stop, a thread that died while it was held.
static void check_children(struct loop *l)
{
	struct signals_news n = signals_take(SIGCHLD, 0);
	uint64_t now = clock_mono_ns();
	if (!n.sent && !n.kernel && now < l->children_ns)
		return;
	l->children_ns = now + CHILDREN_NS;
	regs_reap(first_pid(l));
	if (!session_first(l->s)->ended)
		check_child(l);
}

static void check_deadlines(struct loop *l)
{
	uint64_t now = l->term_at || l->kill_at ? clock_mono_ns() : 0;
	if (l->term_at && now >= l->term_at) {
		l->term_at = 0;
		l->end.timed_out = true;
		terminate(l, true);
		forward(l, SIGCONT, true);
		l->kill_at = clock_mono_ns() + KILL_AFTER_NS;
	} else if (l->kill_at && now >= l->kill_at) {
		l->kill_at = 0;
		forward(l, SIGKILL, true);
		detach(l, true);
	}
	uint64_t next = l->term_at ? l->term_at : l->kill_at;
	if (next && next > now && next - now < l->sleep_ns)
		l->sleep_ns = next - now;
}

// The turns are short, and a ring may be full before the scheduler's usual slice is over: with a
// shorter one we come sooner when there is work for every CPU. (Linux 6.12; before, it changes nothing.)
static void ask_for_short_slices(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} a;
	if (syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) || a.policy != SCHED_OTHER)
		return;
	a.runtime = SLICE_NS;
	a.flags = SLICE_NOT_INHERITED;
	syscall(SYS_sched_setattr, 0, &a, 0);
}

// What precedes the first turn. timeout_s: 0 = none.
static void begin(struct loop *l, double timeout_s)
{
	ask_for_short_slices();
	if (timeout_s > 0)
		l->term_at = clock_mono_ns() + (uint64_t)(timeout_s * 1e9) + 1;
	signals_wake(&l->s->first.region.ext->wake);
	waiters_begin(l->s);
}

// A turn of an engine that is not the program's parent. Returns whether the program is gone.
static bool turn_beside(struct loop *l)
{
	note_wakes(l);
	turn(l);
	waiters_serve(l->s);
	regs_reap(0);
	return pidfd_gone(first_pid(l), session_first(l->s)->pidfd);
}

struct run_end run_child(struct session *s, struct sock *sock, double timeout_s)
{
	struct loop l = {.s = s, .sock = sock, .sleep_ns = SLEEP_LEAST_NS};
	begin(&l, timeout_s);
	group_begin(&l.group);
	while (session_lives(s)) {
		note_wakes(&l);
		turn(&l);
		pass_signals(&l);
		waiters_serve(s);
		check_children(&l);
		mirror_stop(&l);
		if (session_first(s)->ended) // whom it spoke for
			group_end(&l.group);
		check_deadlines(&l);
		if (session_lives(s))
			sleep_a_while(&l);
	}
	group_end(&l.group);
	signals_wake(NULL);
	finish_write(s);
	session_forget(s);
	return l.end;
}

void run_served(struct session *s)
{
	struct loop l = {.s = s, .sleep_ns = SLEEP_LEAST_NS};
	begin(&l, 0);
	while (!turn_beside(&l) && !signals_take(SIGTERM, first_pid(&l)).sent)
		sleep_a_while(&l);
	signals_wake(NULL);
	turn_ended(s, "unknown", 0);
	finish_write(s);
}

// SIGUSR2 asks for a snapshot of --flight; nothing is passed on.
static bool told_to_end(struct loop *l)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	bool end = l->term_at && clock_mono_ns() >= l->term_at;
	for (unsigned i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		struct signals_news n = signals_take(ends[i], 0);
		end |= n.sent || n.kernel;
	}
	if (signals_take(SIGUSR2, 0).sent && l->s->options->flight_bytes)
		snapshots_take(l->s, "request");
	return end;
}

bool run_attached(struct session *s, double timeout_s)
{
	struct loop l = {.s = s, .sleep_ns = SLEEP_LEAST_NS};
	bool ended;
	begin(&l, timeout_s);
	while (!(ended = turn_beside(&l)) && !told_to_end(&l) && !control_detach(s))
		sleep_a_while(&l);
	signals_wake(NULL);
	if (ended)
		turn_ended(s, "unknown", 0);
	else
		turn_snapshot(s, "detach");
	return ended;
}
