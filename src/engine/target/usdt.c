// SPDX-License-Identifier: MIT
//
// An argument is N@OPERAND: N bytes, below 0 if it has a sign, with an f if it is a float; the operand is in
// the assembler's words. Of x86_64 alone: elsewhere every operand is unknown.
#include "engine/target/usdt.h"

#include <stdlib.h>
#include <string.h>

#ifdef __x86_64__
#define IS_X86_64 1
#else
#define IS_X86_64 0
#endif

static const struct {
	char name[5];
	uint8_t number, shift, width;
} names[] = {
	{"rax", 0, 0, 64}, {"eax", 0, 0, 32}, {"ax", 0, 0, 16},  {"al", 0, 0, 8},   {"ah", 0, 8, 8},
	{"rbx", 1, 0, 64}, {"ebx", 1, 0, 32}, {"bx", 1, 0, 16},  {"bl", 1, 0, 8},   {"bh", 1, 8, 8},
	{"rcx", 2, 0, 64}, {"ecx", 2, 0, 32}, {"cx", 2, 0, 16},  {"cl", 2, 0, 8},   {"ch", 2, 8, 8},
	{"rdx", 3, 0, 64}, {"edx", 3, 0, 32}, {"dx", 3, 0, 16},  {"dl", 3, 0, 8},   {"dh", 3, 8, 8},
	{"rsi", 4, 0, 64}, {"esi", 4, 0, 32}, {"si", 4, 0, 16},  {"sil", 4, 0, 8},  {"rdi", 5, 0, 64},
	{"edi", 5, 0, 32}, {"di", 5, 0, 16},  {"dil", 5, 0, 8},  {"rbp", 6, 0, 64}, {"ebp", 6, 0, 32},
	{"bp", 6, 0, 16},  {"bpl", 6, 0, 8},  {"rsp", 7, 0, 64}, {"esp", 7, 0, 32}, {"sp", 7, 0, 16},
	{"spl", 7, 0, 8},
};

// A register's name at *at, behind its %. False: it is none that a sample has.
static bool take_register(const char **at, const char *end, uint8_t *number, uint8_t *shift, uint8_t *width)
{
	const char *p = *at;
	size_t n = 0;
	if (p == end || *p++ != '%')
		return false;
	while (p + n < end && ((p[n] >= 'a' && p[n] <= 'z') || (p[n] >= '0' && p[n] <= '9')))
		n++;
	*at = p + n;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i].name) == n && !memcmp(names[i].name, p, n)) {
			*number = names[i].number;
			*shift = names[i].shift;
			*width = names[i].width;
			return true;
		}
	if (n < 2 || *p != 'r')
		return false;
	char *behind;
	unsigned long r = strtoul(p + 1, &behind, 10);
	char part = behind < p + n ? *behind : 'q';
	if (r < 8 || r > 15 || behind + (behind < p + n) != p + n || !strchr("qdwb", part))
		return false;
	*number = (uint8_t)(r + 8); // 16 and on
	*shift = 0;
	*width = part == 'q' ? 64 : part == 'd' ? 32 : part == 'w' ? 16 : 8;
	return true;
}

// "8(%rbx)", "(%rax,%rcx,4)", "-16(%rbp)": at p, which ends at `end`.
static bool take_memory(struct usdt_argument *a, const char *p, const char *end)
{
	char *behind;
	uint8_t shift, width;
	a->number = *p == '(' ? 0 : strtoll(p, &behind, 0);
	p = *p == '(' ? p : behind;
	if (p >= end || *p++ != '(' || !take_register(&p, end, &a->base, &shift, &width) || width != 64)
		return false;
	if (p < end && *p == ',') {
		p++;
		p += p < end && *p == ' ';
		a->scale = 1;
		if (!take_register(&p, end, &a->index, &shift, &width) || width != 64)
			return false;
		if (p < end && *p == ',') {
			a->scale = (uint8_t)strtoul(p + 1, &behind, 10);
			p = behind;
		}
	}
	return p + 1 == end && *p == ')';
}

static void take_operand(struct usdt_argument *a)
{
	const char *p = a->text, *end = a->text + a->text_bytes;
	char *behind;
	a->operand = USDT_UNKNOWN;
	if (!IS_X86_64 || p == end)
		return;
	if (*p == '$') {
		a->number = (int64_t)(p[1] == '-' ? (uint64_t)strtoll(p + 1, &behind, 0) :
						    strtoull(p + 1, &behind, 0));
		if (behind == end)
			a->operand = USDT_IMMEDIATE;
	} else if (*p == '%') {
		if (take_register(&p, end, &a->base, &a->shift, &a->width) && p == end)
			a->operand = USDT_REGISTER;
	} else if (take_memory(a, p, end)) {
		a->operand = USDT_MEMORY;
	}
}

// Does an argument begin at p: a number and an @?
static bool begins(const char *p)
{
	const char *n = p + strspn(p, "-0123456789f");
	return n > p && *n == '@';
}

bool usdt_next(const char **at, struct usdt_argument *a)
{
	const char *p = *at + strspn(*at, " ");
	*a = (struct usdt_argument){0};
	if (!*p)
		return false;
	char *end;
	long size = strtol(p, &end, 10);
	const char *operand = strchr(end, '@');
	long bytes = size < 0 ? -size : size;
	if (end != p && operand && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8)) {
		a->bytes = (uint8_t)bytes;
		a->is_signed = size < 0;
		a->is_float = *end == 'f';
	}
	operand = operand ? operand + 1 : p + strlen(p);
	const char *q = operand; // which may hold blanks
	while (*q && !(*q == ' ' && (!q[1] || begins(q + 1))))
		q++;
	a->text = operand;
	a->text_bytes = (unsigned)(q - operand);
	take_operand(a);
	*at = q;
	return true;
}

uint64_t usdt_registers(const struct usdt_argument *a)
{
	if (a->operand != USDT_REGISTER && a->operand != USDT_MEMORY)
		return 0;
	return 1ULL << a->base | (a->scale ? 1ULL << a->index : 0);
}

size_t usdt_depth(const struct usdt_argument *a)
{
	if (a->operand != USDT_MEMORY)
		return 0;
	return a->base == USDT_SP && !a->scale && a->number >= 0 ? (size_t)a->number + a->bytes : SIZE_MAX;
}

bool usdt_value(const struct usdt_argument *a, const struct usdt_state *s, uint64_t *value)
{
	uint64_t v = 0, at;
	switch (a->operand) {
	case USDT_IMMEDIATE:
		v = (uint64_t)a->number;
		break;
	case USDT_REGISTER:
		v = s->regs[a->base] >> a->shift;
		v &= a->width < 64 ? (1ULL << a->width) - 1 : UINT64_MAX;
		break;
	case USDT_MEMORY: // no other memory is known than that above the stack pointer
		at = s->regs[a->base] + (uint64_t)a->number + a->scale * (a->scale ? s->regs[a->index] : 0) -
		     s->regs[USDT_SP];
		if (at > s->stack_bytes || s->stack_bytes - at < a->bytes)
			return false;
		memcpy(&v, s->stack + at, a->bytes);
		break;
	default:
		return false;
	}
	*value = a->bytes < 8 ? v & ((1ULL << 8 * a->bytes) - 1) : v;
	return true;
}
