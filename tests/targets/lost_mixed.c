// SPDX-License-Identifier: MIT
//
// lost_mixed [MB]: a server with so much data of all kinds, 128 MB unless it is said: text, numbers, records
// with pointers among each other, and what was compressed. 64 of its readers are lost. What words lead
// to one of them do so by chance.
#include "../museum/lost.h"

#define READERS 64
#define CHUNK (1 << 20)

struct record {
	struct record *next, *other;
	uint32_t id, flags, offset, length;
	double weight;
	char name[24];
};

static char *data;
static int sockets[READERS];

static NOINLINE void fill_text(char *at)
{
	static const char *const words[] = {"the ", "connection ", "of ", "client ", "was ", "closed; ", "200 ", "GET /\n"};
	for (size_t n = 0; n + 16 < CHUNK; n += strlen(at + n))
		strcpy(at + n, words[random_word() % 8]);
}

static NOINLINE void fill_numbers(char *at)
{
	int32_t *small = (void *)at;
	float *f = (void *)(at + CHUNK / 4);
	double *d = (void *)(at + CHUNK / 2);
	for (size_t i = 0; i < CHUNK / 4 / sizeof(*small); i++)
		small[i] = (int32_t)(random_word() % (1u << (random_word() % 31)));
	for (size_t i = 0; i < CHUNK / 4 / sizeof(*f); i++)
		f[i] = (float)(random_word() % 100000) / 16;
	for (size_t i = 0; i < CHUNK / 2 / sizeof(*d); i++)
		d[i] = (double)(random_word() >> (random_word() % 60));
}

static NOINLINE void fill_records(char *at)
{
	struct record *r = (void *)at;
	size_t n = CHUNK / sizeof(*r);
	for (size_t i = 0; i < n; i++) {
		r[i] = (struct record){&r[(i + 1) % n], &r[random_word() % n], (uint32_t)i, 3, (uint32_t)random_word(), 64, 0.5, "record"};
		r[i].weight *= (double)i;
	}
}

static NOINLINE void fill_compressed(char *at)
{
	uint64_t *w = (void *)at;
	for (size_t i = 0; i < CHUNK / sizeof(*w); i++)
		w[i] = random_word();
}

static NOINLINE void fill(size_t n)
{
	static void (*const fills[])(char *) = {fill_text, fill_numbers, fill_records, fill_text,
						fill_numbers, fill_records, fill_records, fill_compressed};
	data = (char *)must_map((n + 1) * CHUNK) + 64; // not where it begins: a stack may end there
	for (size_t i = 0; i < n; i++)
		fills[i % 8](data + i * CHUNK);
}

static NOINLINE void reset(void)
{
	for (int i = 0; i < READERS; i++)
		close(sockets[i]);
}

int main(int argc, char **argv)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	random_state ^= (uint64_t)getpid() << 20; // each run has other data
	fill(argc > 1 ? strtoul(argv[1], NULL, 10) : 128);
	for (int i = 0; i < READERS; i++)
		sockets[i] = open_reader("unix");
	reset();
	serve_on();
}
