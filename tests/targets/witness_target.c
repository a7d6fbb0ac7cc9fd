// SPDX-License-Identifier: MIT
//
// A program with lost coroutines that keeps the tables of a region by hand,
// for the witness's unit test: witness_target CASE REGION-FD. Real coroutines
// (makecontext), real descriptors and a real loop that sleeps; what the hooks
// would write is written here. Then it sleeps for ever.
#include <errno.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "ctp/region.h"
#include "ctp/seq.h"

struct co {
	char before[4096]; // a control block larger than a context
	ucontext_t uc;
	void *stack, *other;
	int fd;
	char after[2048];
};

enum { STACK = 64 * 1024 };

static struct ctp_region region;
static ucontext_t loop;
static struct co *volatile entering;
static int epfd;
void *all[16];       // named by the test
volatile uint64_t hidden; // a tagged pointer
static uint64_t next_id = 100, next_desc = 1;
static struct co *volatile handed; // to a thread, then cleared
static int beside; // the next stack lies right below the last one

// ------------------------------------------------------------ what hooks do

static struct ctp_fd *know(int fd, int kind, int how)
{
	struct ctp_fd *f = &region.fds[fd];
	f->gen++;
	f->life = CTP_FD_OPEN;
	f->kind = (uint8_t)kind;
	f->opened_how = (uint8_t)how;
	f->desc = next_desc++;
	f->reg_epfd = -1;
	if ((uint64_t)fd > region.ext->fd_high)
		region.ext->fd_high = (uint64_t)fd;
	return f;
}

static void watch(int fd, uint64_t data, uint64_t by)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = data};
	if (epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &ev))
		_exit(3);
	struct ctp_fd *f = &region.fds[fd];
	f->reg_epfd = epfd;
	f->reg_data = data;
	f->reg_by = f->adder = by;
}

static void note_regs(const ucontext_t *uc, uint64_t *regs)
{
	static const int order[CTP_REGS] = {REG_RIP, REG_RSP, REG_RBP, REG_RBX, REG_R12, REG_R13, REG_R14, REG_R15};
	for (int i = 0; i < CTP_REGS; i++)
		regs[i] = (uint64_t)uc->uc_mcontext.gregs[order[i]];
}

static void note_suspended(const struct co *c, int fd)
{
	uint32_t n = ctp_add32(&region.header->allocated_count, 1);
	struct ctp_state *s = &region.states[n];
	s->id = next_id++;
	s->entity = CTP_COROUTINE;
	s->life = CTP_SUSPENDED;
	s->changes = 3;
	s->runs = 1;
	s->since = 1000;
	s->slot = (uint64_t)(uintptr_t)&c->uc;
	s->lo = (uint64_t)(uintptr_t)c->stack;
	s->hi = s->lo + STACK;
	s->block_lo = s->lo;
	s->block_hi = s->hi;
	s->station = n;
	note_regs(&c->uc, s->regs);
	s->nwaits = 1;
	s->waits[0] = (struct ctp_wait){.fd = fd, .gen = region.fds[fd].gen, .events = EPOLLIN,
					.how = CTP_WAIT_REGISTERED | CTP_WAIT_EAGAIN, .data = region.fds[fd].reg_data,
					.epfd = epfd};
	region.fds[fd].waiter[0] = (uint64_t)n << CTP_ID_BITS | s->id;
	ctp_store32(&s->owner, CTP_OWNER_GUEST);
}

static void close_under(int fd, bool real)
{
	struct ctp_cand *c = &region.cands[region.ext->cand_count];
	struct stat st;
	fstat(fd, &st);
	c->was = region.fds[fd];
	c->kind = CTP_CAND_CLOSE;
	c->fd = fd;
	c->gen = c->was.gen;
	c->fd_kind = c->was.kind;
	c->call = CTP_CALL_CLOSE;
	c->dev = st.st_dev;
	c->ino = st.st_ino;
	c->mode = st.st_mode;
	c->before = 2000;
	if (real)
		close(fd);
	region.fds[fd].life = CTP_FD_CLOSED;
	region.fds[fd].reg_epfd = -1;
	c->time = 2001;
	c->epoch = ctp_add64(&region.ext->epoch, 1) + 1;
	ctp_store32(&c->ready, 1);
	ctp_add32(&region.ext->cand_count, 1);
}

static struct ctp_thread *note_thread(int tid)
{
	struct ctp_thread *t = &region.threads[ctp_add32(&region.ext->thread_high, 1)];
	t->tid = (uint32_t)tid;
	t->native = t->current = next_id++;
	t->switches = t->polls = t->turns = 1;
	t->seen = ctp_load64(&region.ext->epoch);
	ctp_store32(&t->life, CTP_THREAD_LIVE);
	return t;
}

// --------------------------------------------------------------- coroutines

static void body(void)
{
	struct co *self = entering;
	entering = NULL;
	swapcontext(&self->uc, &loop); // waits for ever
	_exit(4);
}

static __attribute__((noinline)) struct co *start(void)
{
	struct co *c = calloc(1, sizeof(*c));
	// apart from all else: a pointer to what begins where it ends would lead to both
	static uintptr_t apart; // far, but where the kernel might have put it
	if (!apart)
		apart = ((uintptr_t)getcontext & ~(uintptr_t)0xfff) - (8ULL << 30);
	apart -= beside ? STACK : 16 << 20;
	c->stack = mmap((void *)apart, STACK, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	getcontext(&c->uc);
	c->uc.uc_stack.ss_sp = c->stack;
	c->uc.uc_stack.ss_size = STACK;
	c->uc.uc_link = &loop;
	makecontext(&c->uc, body, 0);
	entering = c;
	swapcontext(&loop, &c->uc);
	return c;
}

static __attribute__((noinline)) struct co *victim(int fd, uint64_t data)
{
	struct co *c = start();
	c->fd = fd;
	watch(fd, data ? data : (uint64_t)(uintptr_t)c, next_id);
	note_suspended(c, fd);
	return c;
}

// A switch later the loop's saved context no longer holds the last one. Called
// where no register holds one either: a context keeps them all.
static __attribute__((noinline)) void forget(void)
{
	start();
	memset(&loop, 0, sizeof(loop));
}

static int pair(void)
{
	int s[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s))
		_exit(5);
	know(s[0], CTP_FD_UNIX, CTP_CALL_SOCKETPAIR)->peer_desc = next_desc;
	know(s[1], CTP_FD_UNIX, CTP_CALL_SOCKETPAIR)->peer_desc = next_desc - 2;
	return s[0];
}

static int event(void)
{
	int fd = eventfd(0, EFD_NONBLOCK);
	know(fd, CTP_FD_EVENTFD, CTP_CALL_EVENTFD);
	return fd;
}

static void *futex_thread(void *arg)
{
	static int word;
	note_thread((int)syscall(SYS_gettid))->polls = 0;
	struct co *c = handed;
	handed = NULL;
	register long timeout __asm__("r10") = 0;
	long r;
	// rbx alone holds the pointer from here on
	__asm__ volatile("mov %[c], %%rbx\n\txor %[c], %[c]\n\t1: mov $202, %%eax\n\tsyscall\n\tjmp 1b"
			 : "=&a"(r), [c] "+r"(c)
			 : "D"(&word), "S"(FUTEX_WAIT | FUTEX_PRIVATE_FLAG), "d"(0), "r"(timeout)
			 : "rbx", "rcx", "r11", "memory");
	return NULL;
}

static void with_thread(struct co *c)
{
	pthread_t p;
	handed = c;
	pthread_create(&p, NULL, futex_thread, NULL);
}

static int listener(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 1))
		_exit(6);
	know(fd, CTP_FD_TCP, CTP_CALL_SOCKET)->flags = CTP_FD_LISTENS;
	return fd;
}

// What an earlier wait has left in the buffer of events.
static __attribute__((noinline)) void leave_event(struct epoll_event *ev)
{
	ev->data.u64 = region.states[0].slot;
}

static struct co *co_of(uintptr_t complement)
{
	return (struct co *)~complement;
}

static __attribute__((noinline)) void scene(const char *what)
{
	bool anon = !strncmp(what, "event", 5);
	void *neighbour = malloc(3000);
	int fd = anon ? event() : pair();
	volatile uintptr_t first = ~(uintptr_t)victim(fd, 0); // where no register saves it
	watch(event(), 7777, 1);
	if (!strcmp(what, "statics"))
		all[7] = co_of(first);
	if (!strcmp(what, "tagged"))
		hidden = (uint64_t)~first | 0xabcdULL << 48;
	if (!strcmp(what, "regs"))
		region.threads[0].wait_regs[CTP_REG_S0] = (uint64_t)~first + 100;
	if (!strcmp(what, "futex"))
		with_thread(co_of(first));
	if (!strcmp(what, "listener"))
		watch(listener(), 8888, 1);
	if (!strcmp(what, "pair")) {
		int fd2 = pair();
		struct co *d = victim(fd2, 0);
		co_of(first)->other = d;
		d->other = co_of(first);
		close_under(fd2, true);
	}
	if (!strcmp(what, "unled")) { // healthy; its registration has its number, and no table leads on
		int fd2 = pair();
		victim(fd2, (uint64_t)fd2);
	}
	if (!strcmp(what, "unwaited")) { // as that, but nobody waits for its event now
		int fd2 = pair();
		victim(fd2, (uint64_t)fd2);
		epoll_ctl(epfd, EPOLL_CTL_DEL, fd2, NULL);
	}
	if (!strcmp(what, "mixed")) { // of the other stack no allocation is known: all of the mapping may be its own
		int fd2 = pair();
		beside = 1;
		all[7] = victim(fd2, 0);
		beside = 0;
		region.states[1].block_lo = region.states[1].block_hi = 0;
		close_under(fd2, true);
	}
	if (!strcmp(what, "dups") || !strcmp(what, "eventdup")) {
		uint64_t desc = region.fds[fd].desc;
		know(dup(fd), region.fds[fd].kind, CTP_CALL_DUP)->desc = desc;
	}
	if (!strcmp(what, "flight"))
		region.threads[0].seen = 0, region.threads[0].polls = 5;
	close_under(fd, true);
	free(neighbour);
}

static __attribute__((noinline)) void deep(const char *what)
{
	volatile char room[32768];
	room[0] = room[sizeof(room) - 1] = 0;
	scene(what);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	struct stat st;
	int shm = atoi(argv[2]);
	fstat(shm, &st);
	void *base = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, shm, 0);
	if (base == MAP_FAILED || ctp_region_open(&region, base, (uint64_t)st.st_size))
		return 2;
	close(shm);
	region.ext->region_base = (uint64_t)(uintptr_t)base;
	struct ctp_thread *t = note_thread(getpid());
	epfd = epoll_create1(0);
	know(epfd, CTP_FD_EPOLL, CTP_CALL_EPOLL_CREATE);
	deep(argv[1]);
	forget();
	struct epoll_event ev[16];
	memset(ev, 0, sizeof(ev));
	leave_event(&ev[3]);
	t->wait_call = CTP_IN_EPOLL;
	t->wait_fd = epfd;
	static ucontext_t here;
	uint64_t held = t->wait_regs[CTP_REG_S0];
	getcontext(&here); // as its hook would: the caller's registers
	note_regs(&here, t->wait_regs);
	t->wait_regs[CTP_REG_S0] = held;
	memset(&here, 0, sizeof(here));
	t->wait_timeout_ns = -1;
	if (strcmp(argv[1], "flight"))
		t->seen = ctp_load64(&region.ext->epoch);
	ctp_store64(&t->wait_seq, 1);
	ctp_store64(&region.ext->attached_ns, 1);
	int timeout = strcmp(argv[1], "ticking") ? -1 : 3;
	for (;;)
		epoll_wait(epfd, ev, 16, timeout);
}
