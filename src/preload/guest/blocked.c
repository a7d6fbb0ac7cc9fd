// SPDX-License-Identifier: MIT
//
// A call that took long is recorded once it has returned, with the time that it took; one that took less than
// a few microseconds leaves no record. A switch ends the slice and with it `timed`, so a call that is left by
// a switch is not recorded.
#include "preload/guest/blocked.h"

#include "preload/guest/emit.h"
#include "preload/guest/events.h"

struct blocked_event blocked_event = {
	{.bytes = sizeof(blocked_event),
	 .version = CTP_EVENT_VERSION,
	 .fields = 3,
	 .magic = CTP_EVENT_MAGIC,
	 .kinds = {CTP_EVENT_UNSIGNED, CTP_EVENT_TEXT, CTP_EVENT_UNSIGNED},
	 .sizes = {sizeof(uint64_t), sizeof(char *), sizeof(uint32_t)}},
	"ctp\0blocked\0libctp.so\0uint64_t\0ticks\0const char *\0in\0uint32_t\0stack\0"};

bool blocked_goes_with(const struct ctp_event_info *event)
{
	static const char name[] = "ctp\0task_begin"; // and the zero at its end
	return memcmp(event + 1, name, sizeof(name)) == 0;
}

static const char *call_of(const struct ctp_thread *t)
{
	static const char *const calls[] = {[CTP_IN_EPOLL] = "epoll",
					    [CTP_IN_IO] = "io",
					    [CTP_IN_POLL] = "poll",
					    [CTP_IN_SELECT] = "select"};
	static const char *const blocks[] = {
		[CTP_BLOCK_SLEEP] = "sleep",    [CTP_BLOCK_LOCK] = "lock", [CTP_BLOCK_COND] = "condition",
		[CTP_BLOCK_SEM] = "semaphore",  [CTP_BLOCK_JOIN] = "join", [CTP_BLOCK_CHILD] = "child",
		[CTP_BLOCK_FILE] = "file lock", [CTP_BLOCK_NAME] = "name"};
	const char *name = NULL;
	if (t->wait_call == CTP_IN_BLOCK && (uint32_t)t->wait_fd < sizeof(blocks) / sizeof(*blocks))
		name = blocks[t->wait_fd];
	else if (t->wait_call < sizeof(calls) / sizeof(*calls))
		name = calls[t->wait_call];
	return name ? name : "call";
}

__attribute__((noinline)) void blocked_begin(struct thread_ctx *g)
{
	g->timed = true;
	g->timed_since = emit_now();
}

__attribute__((noinline)) void blocked_enter(struct thread_ctx *g)
{
	blocked_begin(g);
	guest_leave(g);
}

__attribute__((noinline)) void blocked_end(struct thread_ctx *g)
{
	const struct ctp_thread *t = g->thread;
	uint64_t now = emit_now(), ticks = now - g->timed_since;
	g->timed = false;
	if (ticks < BLOCKED_TICKS || !(ctp_load16(&blocked_event.info.u.by.on) & CTP_EVENT_ON_RECORDED))
		return;
	struct frame f = {t->wait_regs[CTP_REG_PC], t->wait_regs[CTP_REG_SP], t->wait_regs[CTP_REG_FP]};
	const uint64_t words[] = {ticks, (uint64_t)(uintptr_t)call_of(t), guest_stack(g, &f)};
	events_record(g, &blocked_event.info, words, now);
}

__attribute__((noinline)) void blocked_leave(struct thread_ctx *g)
{
	blocked_end(g);
	guest_leave(g);
}
