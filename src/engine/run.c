// SPDX-License-Identifier: MIT
//
// One thread, one loop: look at everything, sleep on the region's futex. The
// sleep is short while the program is busy (a ring must not fill up) and grows
// to 20 ms. A signal that arrives between the look and the sleep waits as long.
#include "engine/run.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ctp/seq.h"
#include "engine/log.h"
#include "engine/signals.h"

#define SLEEP_LEAST_NS 1000000
#define SLEEP_MOST_NS 20000000
#define KILL_AFTER_NS 2000000000ULL
#define STOP_WITHIN_NS 1000000000ULL // of the terminal's signal: a handler may do something first

struct loop {
	struct session *s;
	struct sock *sock;
	uint64_t sleep_ns;
	uint64_t turns;
	uint64_t term_at, kill_at; // of --timeout; 0: none
	struct run_end end;
	uint64_t stop_asked; // when a terminal's stop signal reached us; 0: none
	bool stopped;        // the program stands still, and so should we if its terminal wants it
	bool over;
};

static void sleep_a_while(struct loop *l, uint32_t wake)
{
	struct ctp_ext *e = l->s->region->ext;
	struct timespec ts = { .tv_nsec = (long)l->sleep_ns };
	if (signals_pending())
		return;
	ctp_store32(&e->waiting, 1);
	syscall(SYS_futex, &e->wake, FUTEX_WAIT, wake, &ts, NULL, 0);
	ctp_store32(&e->waiting, 0);
}

static void turn(struct loop *l)
{
	bool busy = session_turn(l->s);
	l->sleep_ns = busy ? SLEEP_LEAST_NS : l->sleep_ns * 5 / 4;
	if (l->sleep_ns > SLEEP_MOST_NS)
		l->sleep_ns = SLEEP_MOST_NS;
	if (l->sock && l->turns++ % 8 == 0)
		sock_accept(l->sock);
}

static void forward(struct loop *l, int sig)
{
	kill(l->s->pid, sig);
}

static void terminate(struct loop *l)
{
	session_snapshot(l->s, l->end.timed_out ? "timeout" : "term");
	session_told(l->s, clock_mono_ns());
	forward(l, SIGTERM);
}

static void pass_signals(struct loop *l)
{
	static const int plain[] = { SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH,
				     SIGTSTP, SIGTTIN, SIGTTOU };
	for (unsigned i = 0; i < sizeof(plain) / sizeof(*plain); i++) {
		int sig = plain[i];
		struct signals_news n = signals_take(sig, l->s->pid);
		if (n.sent)
			forward(l, sig);
		if (sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU)
			l->stop_asked = n.sent || n.kernel ? clock_mono_ns() : l->stop_asked;
	}
	struct signals_news term = signals_take(SIGTERM, l->s->pid);
	if (term.sent)
		terminate(l);
}

// Where the program stopped because its terminal's job was, so do we: the
// shell waits for it. Stopped by hand, it is its own affair. The two news come
// in any order.
static void mirror_stop(struct loop *l)
{
	if (l->stop_asked && clock_mono_ns() - l->stop_asked > STOP_WITHIN_NS)
		l->stop_asked = 0;
	if (!l->stopped || !l->stop_asked || getpgid(l->s->pid) != getpgrp())
		return;
	l->stop_asked = 0;
	l->stopped = false;
	raise(SIGSTOP);
}

static void look_at_child(struct loop *l)
{
	int status;
	pid_t pid;
	while ((pid = waitpid(l->s->pid, &status, WNOHANG | WUNTRACED | WCONTINUED)) == l->s->pid) {
		if (WIFSTOPPED(status) || WIFCONTINUED(status)) {
			l->stopped = WIFSTOPPED(status);
			continue;
		}
		l->over = true;
		l->end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
		l->end.status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
		return;
	}
	if (pid < 0 && errno == ECHILD) { // somebody took its status away
		l->over = true;
		l->end.status = 125;
	}
}

static void look_at_time(struct loop *l)
{
	uint64_t now = l->term_at || l->kill_at ? clock_mono_ns() : 0;
	if (l->term_at && now >= l->term_at) {
		l->term_at = 0;
		l->end.timed_out = true;
		terminate(l);
		forward(l, SIGCONT);
		l->kill_at = clock_mono_ns() + KILL_AFTER_NS;
	} else if (l->kill_at && now >= l->kill_at) {
		l->kill_at = 0;
		forward(l, SIGKILL);
	}
	uint64_t next = l->term_at ? l->term_at : l->kill_at;
	if (next && next > now && next - now < l->sleep_ns)
		l->sleep_ns = next - now;
}

static bool final_asked(const struct session *s)
{
	return !s->final_done && ctp_load32(&s->region->ext->final_asked) == CTP_FINAL_ASKED;
}

struct run_end run_child(struct session *s, struct sock *sock, double timeout_s)
{
	struct loop l = { .s = s, .sock = sock, .sleep_ns = SLEEP_LEAST_NS };
	if (timeout_s > 0)
		l.term_at = clock_mono_ns() + (uint64_t)(timeout_s * 1e9) + 1;
	while (!l.over) {
		uint32_t wake = ctp_load32(&s->region->ext->wake);
		turn(&l);
		pass_signals(&l);
		if (final_asked(s))
			session_final(s, false);
		look_at_child(&l);
		mirror_stop(&l);
		look_at_time(&l);
		if (!l.over)
			sleep_a_while(&l, wake);
	}
	session_ended(s, l.end.signal ? "signal" : "exit", l.end.signal ? l.end.signal : l.end.status);
	session_write(s);
	return l.end;
}

void run_served(struct session *s)
{
	struct loop l = { .s = s, .sleep_ns = SLEEP_LEAST_NS };
	int pidfd = (int)syscall(SYS_pidfd_open, s->pid, 0);
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	while (pidfd >= 0) {
		uint32_t wake = ctp_load32(&s->region->ext->wake);
		turn(&l);
		if (final_asked(s))
			session_final(s, true);
		if (poll(&p, 1, 0) > 0 || signals_take(SIGTERM, s->pid).sent)
			break;
		sleep_a_while(&l, wake);
	}
	session_ended(s, "unknown", 0);
	session_write(s);
	if (pidfd >= 0)
		close(pidfd);
}
