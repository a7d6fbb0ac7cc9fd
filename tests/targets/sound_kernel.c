// SPDX-License-Identifier: MIT
//
// sound_kernel.c - see sound_hide.h: what the kernel keeps for a program, and
// gives back when asked.
#include <asm/prctl.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "sound_hide.h"

enum { PAGE = 4096, SLICE = 64 << 10 };

// ---- files

// Nobody has touched the page that has it; the file has neither a name nor a number.
static struct co **page;

static void map_file(struct co *c, int prot)
{
	char name[] = "/tmp/sound-XXXXXX";
	int fd = (int)must(mkstemp(name));
	must(unlink(name));
	must(ftruncate(fd, 2 * PAGE));
	must(pwrite(fd, &c, sizeof(c), 7 * sizeof(c)));
	page = mmap(NULL, 2 * PAGE, prot, MAP_PRIVATE, fd, 0);
	must(page == MAP_FAILED ? -1 : 0);
	must(close(fd));
}

static void hide_file_private(struct co *c)
{
	map_file(c, PROT_READ);
}

static void hide_file_private_rw(struct co *c)
{
	map_file(c, PROT_READ | PROT_WRITE);
}

static void hide_file_moved(struct co *c)
{
	map_file(c, PROT_READ);
	page = mremap(page, 2 * PAGE, 64 * PAGE, MREMAP_MAYMOVE);
	must(page == MAP_FAILED ? -1 : 0);
}

static struct co *find_page(void)
{
	return page[7];
}

// ---- queues

static int queue[2], inner;

static struct co *find_queue(void)
{
	struct co *c;
	must(read(queue[0], &c, sizeof(c)));
	return c;
}

// A pipe that had a name.
static void hide_fifo(struct co *c)
{
	char name[] = "/tmp/sound-XXXXXX", path[64];
	must(mkdtemp(name) ? 0 : -1);
	snprintf(path, sizeof(path), "%s/pipe", name);
	must(mkfifo(path, 0600));
	queue[0] = (int)must(open(path, O_RDWR | O_CLOEXEC));
	must(write(queue[0], &c, sizeof(c)));
	must(unlink(path));
	must(rmdir(name));
}

static char bulk[70000];

static void hide_tcp_bulk(struct co *c)
{
	int size = 1 << 20;
	pair("tcp", queue);
	setsockopt(queue[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	for (size_t at = 0; at < sizeof(bulk);)
		at += (size_t)must(write(queue[1], bulk, sizeof(bulk) - at));
	must(write(queue[1], &c, sizeof(c)));
}

static struct co *find_tcp_bulk(void)
{
	for (size_t at = 0; at < sizeof(bulk);)
		at += (size_t)must(read(queue[0], bulk, sizeof(bulk) - at));
	return find_queue();
}

// Both ends have shut down: the connection is in no table any more, and what came is still there.
static void hide_tcp_over(struct co *c)
{
	char byte;
	pair("tcp", queue);
	must(write(queue[1], &c, sizeof(c)));
	must(shutdown(queue[1], SHUT_WR));
	must(fcntl(queue[1], F_SETFL, 0));
	must(shutdown(queue[0], SHUT_WR));
	must(read(queue[1], &byte, 1));
	must(close(queue[1]));
}

static void to_itself(struct co *c, int type, int protocol)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	queue[0] = (int)must(socket(AF_INET, type | SOCK_CLOEXEC, protocol));
	must(bind(queue[0], (struct sockaddr *)&a, n));
	must(getsockname(queue[0], (struct sockaddr *)&a, &n));
	must(sendto(queue[0], &c, sizeof(c), 0, (struct sockaddr *)&a, n));
}

static void hide_udplite(struct co *c)
{
	to_itself(c, SOCK_DGRAM, IPPROTO_UDPLITE);
}

static void hide_raw(struct co *c)
{
	to_itself(c, SOCK_RAW, 253);
}

static struct co *find_raw(void)
{
	struct { char header[20]; struct co *c; } __attribute__((packed)) packet;
	must(read(queue[0], &packet, sizeof(packet)));
	return packet.c;
}

static void hide_netlink(struct co *c)
{
	struct sockaddr_nl a = {.nl_family = AF_NETLINK};
	socklen_t n = sizeof(a);
	queue[0] = (int)must(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_USERSOCK));
	must(bind(queue[0], (struct sockaddr *)&a, n));
	must(getsockname(queue[0], (struct sockaddr *)&a, &n));
	must(sendto(queue[0], &c, sizeof(c), 0, (struct sockaddr *)&a, n));
}

static void hide_mqueue(struct co *c)
{
	char name[32];
	struct mq_attr attr = {.mq_maxmsg = 2, .mq_msgsize = sizeof(c)};
	snprintf(name, sizeof(name), "/sound-%d", (int)getpid());
	queue[0] = (int)must(mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, &attr));
	must(mq_unlink(name));
	must(mq_send(queue[0], (char *)&c, sizeof(c), 0));
}

static struct co *find_mqueue(void)
{
	struct co *c;
	must(mq_receive(queue[0], (char *)&c, sizeof(c), NULL));
	return c;
}

// Nobody has sent to it; the value comes with the signal that says so.
static void hide_mq_notify(struct co *c)
{
	struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_ptr = c};
	char name[32];
	struct mq_attr attr = {.mq_maxmsg = 2, .mq_msgsize = sizeof(c)};
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	snprintf(name, sizeof(name), "/sound-%d", (int)getpid());
	queue[0] = (int)must(mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, &attr));
	must(mq_unlink(name));
	must(mq_notify(queue[0], &e));
}

static struct co *find_mq_notify(void)
{
	sigset_t set;
	siginfo_t si;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	must(mq_send(queue[0], "x", 1, 0));
	sigwaitinfo(&set, &si);
	return si.si_value.sival_ptr;
}

static struct {
	long kind;
	struct co *co;
} message = {1, NULL};

static void hide_msgqueue(struct co *c)
{
	queue[0] = (int)must(msgget(IPC_PRIVATE, 0600));
	message.co = c;
	must(msgsnd(queue[0], &message, sizeof(message.co), 0));
	message.co = NULL;
}

static struct co *find_msgqueue(void)
{
	must(msgrcv(queue[0], &message, sizeof(message.co), 0, 0));
	must(msgctl(queue[0], IPC_RMID, NULL));
	return message.co;
}

static void hide_shm(struct co *c)
{
	queue[0] = (int)must(shmget(IPC_PRIVATE, PAGE, 0600));
	struct co **at = shmat(queue[0], NULL, 0);
	must(at == (void *)-1 ? -1 : 0);
	at[7] = c;
	must(shmdt(at));
}

static struct co *find_shm(void)
{
	struct co **at = shmat(queue[0], NULL, 0);
	must(at == (void *)-1 ? -1 : 0);
	must(shmctl(queue[0], IPC_RMID, NULL));
	return at[7];
}

// What was written to a terminal's one end, unread at the other.
static void hide_pty(struct co *c)
{
	struct termios t;
	queue[0] = (int)must(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
	must(grantpt(queue[0]));
	must(unlockpt(queue[0]));
	queue[1] = (int)must(open(ptsname(queue[0]), O_RDWR | O_NOCTTY | O_CLOEXEC));
	must(tcgetattr(queue[1], &t));
	cfmakeraw(&t);
	must(tcsetattr(queue[1], TCSANOW, &t));
	must(write(queue[1], &c, sizeof(c)));
}

// ---- settings

// Where handlers would stand, if any asked for it.
static void hide_altstack(struct co *c)
{
	stack_t alt = {.ss_sp = c, .ss_size = 2 * SLICE};
	must(sigaltstack(&alt, NULL));
}

static struct co *find_altstack(void)
{
	stack_t alt;
	must(sigaltstack(NULL, &alt));
	return alt.ss_sp;
}

#ifdef __x86_64__
static void hide_gs(struct co *c)
{
	must(syscall(SYS_arch_prctl, ARCH_SET_GS, c));
}

static struct co *find_gs(void)
{
	struct co *c;
	must(syscall(SYS_arch_prctl, ARCH_GET_GS, &c));
	return c;
}
#endif

// How far a file was read.
static void hide_offset(struct co *c)
{
	queue[0] = (int)must(memfd_create("offset", MFD_CLOEXEC));
	must(lseek(queue[0], (off_t)(uintptr_t)c, SEEK_SET));
}

static struct co *find_offset(void)
{
	return (struct co *)must(lseek(queue[0], 0, SEEK_CUR));
}

// ---- sets of which no number tells

// What the rows lead to: it has the coroutine.
struct holder {
	char more[400];
	struct co *co;
};

static pthread_barrier_t there;
static int set, ticket, answer[2];
static pid_t sleeper_tid;

static struct holder *hold(struct co *c)
{
	struct holder *h = must_alloc(sizeof(*h));
	h->co = c;
	return h;
}

// Its thread sleeps in the set, which keeps that alive without a number.
static void *sleeper(void *arg)
{
	struct epoll_event ev;
	(void)arg;
	sleeper_tid = gettid();
	pthread_barrier_wait(&there);
	must(epoll_wait(set, &ev, 1, -1));
	must(write(answer[1], &ev.data.ptr, sizeof(ev.data.ptr)));
	return NULL;
}

static void start_sleeper(void *(*fn)(void *), void *arg)
{
	char path[64], text[64] = "";
	must(pipe2(answer, O_CLOEXEC));
	pthread_barrier_init(&there, NULL, 2);
	co_thread(fn, arg);
	pthread_barrier_wait(&there);
	snprintf(path, sizeof(path), "/proc/self/task/%d/wchan", sleeper_tid);
	while (strncmp(text, "do_epoll_wait", 13) && strncmp(text, "ep_poll", 7)) {
		int fd = (int)must(open(path, O_RDONLY | O_CLOEXEC));
		memset(text, 0, sizeof(text));
		must(read(fd, text, sizeof(text) - 1));
		must(close(fd));
		sched_yield();
	}
}

static void add_ticket(void *data)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = data};
	must(epoll_ctl(set, EPOLL_CTL_ADD, ticket, &ev));
}

static void hide_closed_set(struct co *c)
{
	set = (int)must(epoll_create1(EPOLL_CLOEXEC));
	ticket = (int)must(eventfd(0, EFD_CLOEXEC));
	add_ticket(hold(c));
	start_sleeper(sleeper, NULL);
	must(close(set));
}

// The number is another set's now.
static void hide_replaced_set(struct co *c)
{
	hide_closed_set(c);
	must(epoll_create1(EPOLL_CLOEXEC) == set ? 0 : -1);
}

static struct co *find_answer(void)
{
	struct holder *h;
	uint64_t one = 1;
	must(write(ticket, &one, sizeof(one)));
	must(read(answer[0], &h, sizeof(h)));
	return h->co;
}

// The coroutine's own registration lies in it, and a dup keeps the file.
static struct co *make_in_set(co_fn *fn)
{
	set = (int)must(epoll_create1(EPOLL_CLOEXEC));
	inner = ep;
	ep = set;
	return co_new(fn, NULL);
}

static void hide_row(struct co *c)
{
	(void)c;
	ep = inner;
	must(fcntl(victim[0], F_DUPFD_CLOEXEC, 100));
	start_sleeper(sleeper, NULL);
	must(close(set));
}

static struct co *find_row(void)
{
	struct co *c;
	must(write(victim[1], "x", 1));
	must(read(answer[0], &c, sizeof(c)));
	return c;
}

#ifdef __x86_64__
// A thread with descriptors of its own has the set.
static NOINLINE void take_apart(struct holder **h)
{
	long r = SYS_dup2; // ends its own copy of the number: no close of the process's
	must(unshare(CLONE_FILES));
	__asm__ volatile("syscall" : "+a"(r) : "D"((long)ticket), "S"((long)victim[0]) : "rcx", "r11", "memory");
	must(r == victim[0] ? 0 : -1);
	set = (int)must(epoll_create1(EPOLL_CLOEXEC));
	add_ticket(*h);
	*h = NULL;
}

static void *loner(void *arg)
{
	take_apart(arg);
	wipe();
	return sleeper(NULL);
}

static void hide_unshared(struct co *c)
{
	static struct holder *arg;
	ticket = (int)must(eventfd(0, EFD_CLOEXEC));
	arg = hold(c);
	start_sleeper(loner, &arg);
}
#endif

const struct hide hides_kernel[] = {
	{"file_private", NULL, hide_file_private, find_page},
	{"file_private_rw", NULL, hide_file_private_rw, find_page},
	{"file_moved", NULL, hide_file_moved, find_page},
	{"fifo", NULL, hide_fifo, find_queue},
	{"tcp_bulk", NULL, hide_tcp_bulk, find_tcp_bulk},
	{"tcp_over", NULL, hide_tcp_over, find_queue},
	{"udplite", NULL, hide_udplite, find_queue},
	{"raw", NULL, hide_raw, find_raw},
	{"netlink", NULL, hide_netlink, find_queue},
	{"mqueue", NULL, hide_mqueue, find_mqueue},
	{"mq_notify", NULL, hide_mq_notify, find_mq_notify},
	{"msgqueue", NULL, hide_msgqueue, find_msgqueue},
	{"shm", NULL, hide_shm, find_shm},
	{"pty", NULL, hide_pty, find_queue},
	{"altstack", NULL, hide_altstack, find_altstack},
#ifdef __x86_64__
	{"gs", NULL, hide_gs, find_gs},
#endif
	{"offset", NULL, hide_offset, find_offset},
	{"closed_set", NULL, hide_closed_set, find_answer},
	{"replaced_set", NULL, hide_replaced_set, find_answer},
	{"closed_set_row", make_in_set, hide_row, find_row},
#ifdef __x86_64__
	{"unshared", NULL, hide_unshared, find_answer},
#endif
	{NULL, NULL, NULL, NULL},
};
