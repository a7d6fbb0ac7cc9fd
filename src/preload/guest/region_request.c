// SPDX-License-Identifier: MIT
//
// A fresh region from the engine (spec/cTP.md, "Attaching"). A forked child takes a spare one,
// which exists already, and waits for nobody. If there is none, and after exec, our pid goes into
// the first region's `ask`; the engine puts a descriptor's number beside it. If either side finds
// another word there than it left, the other side has given up. A region is written to only
// after the word was taken back, so never by two processes. Many may request at once: they
// take turns. An engine whose heartbeat has stopped is not waited for. Runs in the constructor
// and in forked children: system calls only.
#include "preload/guest/region_request.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "cpu.h"
#include "preload/guest/real.h"

enum { STEP_NS = 100000000, STEPS = 100, STILL = 10 };

bool region_request_wait(uint32_t *word, uint32_t old, uint64_t ns)
{
	uint64_t end = guest_mono_ns() + ns, now;
	while (ctp_load32(word) == old && (now = guest_mono_ns()) < end) {
		struct timespec left = {(time_t)((end - now) / 1000000000), (long)((end - now) % 1000000000)};
		cpu_syscall(SYS_futex, (long)word, FUTEX_WAIT, old, (long)&left, 0, 0);
	}
	return ctp_load32(word) != old;
}

// *bytes: at most so many; then how many they are.
static struct ctp_header *map(const char *path, void *at, uint64_t *bytes)
{
	struct stat st;
	int fd = real_open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	void *p = MAP_FAILED;
	if (fstat(fd, &st) == 0 && st.st_size >= (off_t)CTP_HEADER_BYTES &&
	    (!at || (uint64_t)st.st_size <= *bytes)) {
		*bytes = (uint64_t)st.st_size < *bytes ? (uint64_t)st.st_size : *bytes;
		p = real_mmap(at, *bytes, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_NORESERVE | (at ? MAP_FIXED : 0), fd, 0);
	}
	real_close(fd);
	return p == MAP_FAILED ? NULL : p;
}

struct ctp_header *region_request_map(const char *path, void *at, uint64_t *bytes)
{
	*bytes = at ? *bytes : UINT64_MAX;
	return map(path, at, bytes);
}

struct ctp_header *region_request_map_head(const char *path)
{
	uint64_t bytes = 4096;
	struct ctp_header *h = map(path, NULL, &bytes);
	if (!h || (ctp_load64(&h->magic) == CTP_MAGIC && h->ext.magic == CTP_EXT_MAGIC))
		return h;
	real_munmap(h, bytes);
	return NULL;
}

static char *put_number(char *p, uint32_t n)
{
	char digits[12];
	int k = 0;
	do
		digits[k++] = (char)('0' + n % 10);
	while (n /= 10);
	while (k)
		*p++ = digits[--k];
	return p;
}

void region_request_path(char out[64], uint32_t engine_pid, uint32_t fd)
{
	memcpy(out, "/proc/", 6);
	char *p = put_number(out + 6, engine_pid);
	memcpy(p, "/fd/", 4);
	*put_number(p + 4, fd) = 0;
}

// Waits for *word to change from `is`, at its half `half`, while the engine lives.
static bool wait_for_engine(struct ctp_ext *e, uint64_t is, int half)
{
	uint32_t *word = (uint32_t *)&e->ask + half;
	for (int i = 0, still = 0; i < STEPS && still < STILL; i++) {
		uint64_t beat = ctp_load64(&e->heartbeat);
		if (ctp_load64(&e->ask) != is ||
		    region_request_wait(word, (uint32_t)(is >> 32 * half), STEP_NS))
			return true;
		still = ctp_load64(&e->heartbeat) == beat ? still + 1 : 0;
	}
	return ctp_load64(&e->ask) != is;
}

static void wake(uint32_t *word)
{
	ctp_add32(word, 1);
	cpu_syscall(SYS_futex, (long)word, FUTEX_WAKE, 1, 0, 0, 0);
}

// The word is ours: 0 -> pid. False: no turn came.
static bool take_turn(struct ctp_ext *e, uint32_t pid)
{
	while (!ctp_cas64(&e->ask, 0, CTP_ASK(pid, 0))) {
		uint64_t is = ctp_load64(&e->ask);
		if (is && !wait_for_engine(e, is, 0))
			return false;
	}
	return true;
}

static void give_turn(struct ctp_ext *e, uint64_t from)
{
	if (ctp_cas64(&e->ask, from, 0))
		cpu_syscall(SYS_futex, (long)&e->ask, FUTEX_WAKE, INT32_MAX, 0, 0, 0);
}

// Whether the engine calls us by that number, too: it may live in another PID namespace.
static bool known_as(uint32_t pid)
{
	char name[16] = "", digits[16] = "";
	cpu_syscall(SYS_readlinkat, AT_FDCWD, (long)"/proc/self", (long)name, sizeof(name) - 1, 0, 0);
	put_number(digits, pid);
	return strcmp(name, digits) == 0;
}

struct ctp_header *region_request(struct ctp_header *first, uint32_t pid, void *at, uint64_t *bytes)
{
	struct ctp_ext *e = &first->ext;
	char path[64];
	if (!known_as(pid) || !take_turn(e, pid))
		return NULL;
	wake(&e->wake);
	wait_for_engine(e, CTP_ASK(pid, 0), 1);
	uint64_t word = ctp_load64(&e->ask);
	uint32_t fd = (uint32_t)(word >> 32);
	if ((uint32_t)word != pid || !fd || fd == CTP_ASK_REFUSED) {
		if ((uint32_t)word == pid)
			give_turn(e, word);
		return NULL;
	}
	region_request_path(path, e->engine_pid, fd - 1);
	if (!at)
		*bytes = UINT64_MAX;
	struct ctp_header *h = map(path, at, bytes);
	bool ours = ctp_cas64(&e->ask, word, 0);
	cpu_syscall(SYS_futex, (long)&e->ask, FUTEX_WAKE, INT32_MAX, 0, 0, 0);
	if (h && !ours) {
		real_munmap(h, *bytes);
		return NULL;
	}
	return h;
}

static struct ctp_header *take_spare(struct ctp_ext *e, uint64_t *word, uint64_t is, uint32_t pid, void *at,
				     uint64_t *bytes)
{
	char path[64];
	uint64_t ours = is | pid;
	if (!ctp_cas64(word, is, ours))
		return NULL;
	region_request_path(path, e->engine_pid, (uint32_t)(is >> 32) - 1);
	struct ctp_header *h = map(path, at, bytes);
	if (ctp_cas64(word, ours, h ? CTP_ASK(pid, 0) : is)) {
		wake(&e->wake); // to have another one made; nobody is waited for
		return h;
	}
	if (h)
		real_munmap(h, *bytes);
	return NULL;
}

struct ctp_header *region_request_spare(struct ctp_header *first, uint32_t pid, void *at, uint64_t *bytes)
{
	struct ctp_header *h = NULL;
	if (!known_as(pid))
		return NULL;
	for (int i = 0; !h && i < CTP_SPARES; i++) {
		uint64_t is = ctp_load64(&first->ext.spare[i]);
		if (is >> 32 && !(uint32_t)is)
			h = take_spare(&first->ext, &first->ext.spare[i], is, pid, at, bytes);
	}
	return h;
}
