// SPDX-License-Identifier: MIT
//
// fake_frames.h - two coroutines as compilers make them, by hand: leaf(int) as GCC does (state of two bytes
// at 0x20, the frame's own address at 0x18, so that its promise is one word), root() as Clang does (one byte
// at 0x28).
#pragma once

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/target/proc.h"
#include "frames/program.h"
#include "frames/stackless.h"

#ifdef __x86_64__
enum { FAKE_CODE = 1 };
__asm__(".text\n"
	".type _Z4leafi, @function\n"
	"_Z4leafi: movw $2, 0x20(%rdi)\n ret\n"
	".size _Z4leafi, . - _Z4leafi\n"
	".type \"_Z4leafi.actor\", @function\n"
	"\"_Z4leafi.actor\": push %rbx\n mov %rdi, %rbx\n sub $0x18, %rsp\n"
	"movzwl 0x20(%rdi), %eax\n test $1, %al\n jne 9f\n"
	"cmp $6, %ax\n ja 8f\n lea 7f(%rip), %rdx\n movslq (%rdx,%rax,4), %rax\n add %rdx, %rax\n jmp *%rax\n"
	"2: mov $4, %edx\n mov %dx, 0x20(%rbx)\n jmp 9f\n"
	"fake_leaf_4: movw $6, 0x20(%rbx)\n nop\n jmp 9f\n"
	"fake_leaf_6: movq $0, (%rbx)\n"
	"lea 0x38(%rbx), %rcx\n mov %rcx, %rdi\n fake_leaf_10: movw $10, -0x18(%rdi)\n"
	"9: add $0x18, %rsp\n pop %rbx\n ret\n"
	"8: ud2\n"
	".size \"_Z4leafi.actor\", . - \"_Z4leafi.actor\"\n"
	".type \"_Z4leafi.destroy\", @function\n"
	"\"_Z4leafi.destroy\": orw $1, 0x20(%rdi)\n jmp \"_Z4leafi.actor\"\n"
	".size \"_Z4leafi.destroy\", . - \"_Z4leafi.destroy\"\n"
	".section .rodata\n .align 4\n"
	"7: .long 8b-7b, 8b-7b, 2b-7b, 8b-7b, fake_leaf_4-7b, 8b-7b, fake_leaf_6-7b\n"
	".text\n"
	".type _Z4rootv, @function\n"
	"_Z4rootv: movb $0, 0x28(%rdi)\n ret\n"
	".size _Z4rootv, . - _Z4rootv\n"
	".type \"_Z4rootv.resume\", @function\n"
	"\"_Z4rootv.resume\": push %rbp\n mov %rsp, %rbp\n mov %rdi, -0x8(%rbp)\n"
	"mov -0x8(%rbp), %rax\n mov 0x28(%rax), %al\n cmp $1, %al\n je fake_root_1\n jmp 1f\n"
	"fake_root_1: nop\n pop %rbp\n ret\n"
	"1: mov -0x8(%rbp), %rax\n fake_root_store: movb $1, 0x28(%rax)\n pop %rbp\n ret\n"
	".size \"_Z4rootv.resume\", . - \"_Z4rootv.resume\"\n"
	".type \"_Z4rootv.destroy\", @function\n"
	"\"_Z4rootv.destroy\": nop\n ret\n"
	".size \"_Z4rootv.destroy\", . - \"_Z4rootv.destroy\"\n"
	".type \"_Z4rootv.cleanup\", @function\n"
	"\"_Z4rootv.cleanup\": nop\n nop\n ret\n"
	".size \"_Z4rootv.cleanup\", . - \"_Z4rootv.cleanup\"\n");
extern char fake_leaf_4[], fake_leaf_6[], fake_leaf_10[], fake_root_1[], fake_root_store[];
extern char leaf_resume[] __asm__("_Z4leafi.actor"), leaf_destroy[] __asm__("_Z4leafi.destroy");
extern char root_resume[] __asm__("_Z4rootv.resume"), root_destroy[] __asm__("_Z4rootv.destroy"),
	root_cleanup[] __asm__("_Z4rootv.cleanup");
#else
enum { FAKE_CODE = 0 };
static char fake_leaf_4[1], fake_leaf_6[1], fake_leaf_10[1], fake_root_1[1], fake_root_store[1];
static char leaf_resume[1], leaf_destroy[1], root_resume[1], root_destroy[1], root_cleanup[1];
#endif

struct fake_frame {
	const void *resume, *destroy;
	const void *next;    // the promise: who goes on
	const void *self;    // 0x18
	uint16_t leaf_state; // 0x20
	uint16_t pad[3];
	uint8_t root_state;   // 0x28
	const void *variable; // 0x30
	const void *more[2];
};

static inline struct fake_frame *fake_leaf(struct fake_frame *at, unsigned state)
{
	*at = (struct fake_frame){
		.resume = leaf_resume, .destroy = leaf_destroy, .self = at, .leaf_state = (uint16_t)state};
	return at;
}

static inline struct fake_frame *fake_root(struct fake_frame *at, unsigned state)
{
	*at = (struct fake_frame){
		.resume = root_resume, .destroy = root_destroy, .root_state = (uint8_t)state};
	return at;
}

// What is found in a copy of this process, which does nothing meanwhile.
struct fake {
	struct proc_maps maps;
	struct memory memory;
	pid_t copy;
	struct pairs pairs;
	struct stackless_list list;
};

static size_t fake_peek(void *ctx, uint64_t at, void *to, size_t bytes)
{
	return memory_peek(ctx, at, to, bytes, false);
}

static inline void fake_pairs(struct fake *f)
{
	const char *unnamed;
	memset(f, 0, sizeof(*f));
	f->copy = fork();
	if (!f->copy && !prctl(PR_SET_PDEATHSIG, SIGKILL))
		for (;;)
			pause();
	assert_true(f->copy > 0);
	assert_int_equal(proc_maps_read(f->copy, &f->maps), 0);
	memory_of_process(&f->memory, f->copy);
	f->memory.maps = f->maps.v;
	f->memory.nmaps = f->maps.n;
	f->memory.deadline_ns = UINT64_MAX;
	const struct program p = {f->copy, f->maps.v, f->maps.n};
	assert_int_equal(program_pairs(&f->pairs, &p, &unnamed), 0);
}

static inline struct stackless_where fake_where(struct fake *f)
{
	return (struct stackless_where){
		.memory = &f->memory, .pairs = &f->pairs, .code = {fake_peek, &f->memory}};
}

static inline void fake_find(struct fake *f)
{
	fake_pairs(f);
	const struct stackless_where w = fake_where(f);
	assert_int_equal(stackless_find(&f->list, &w), 0);
}

static inline struct stackless *fake_at(struct fake *f, const void *frame)
{
	uint32_t row = stackless_row(&f->list, (uintptr_t)frame);
	return row == STACKLESS_NONE ? NULL : &f->list.v[row];
}

static inline void fake_close(struct fake *f)
{
	stackless_deinit(&f->list);
	pairs_deinit(&f->pairs);
	memory_close(&f->memory);
	proc_maps_deinit(&f->maps);
	kill(f->copy, SIGKILL);
	waitpid(f->copy, NULL, 0);
}
