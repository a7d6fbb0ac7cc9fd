// SPDX-License-Identifier: MIT
//
// An object file of a program's, in which the coroutines are looked for that compilers made, and their code.
#include "frames/dispatch.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

const char fuzz_name[] = "pairs";

struct input {
	const uint8_t *data;
	size_t size;
};

// As if the file were mapped where it begins at 0.
static size_t peek(void *ctx, uint64_t at, void *to, size_t bytes)
{
	const struct input *in = ctx;
	if (at >= in->size)
		return 0;
	size_t n = in->size - at < bytes ? in->size - at : bytes;
	memcpy(to, in->data + at, n);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	const struct dispatch_code code = {peek, &in};
	struct pairs p = {0};
	bool named;
	int fd = open(fuzz_file("object", data, size), O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	const struct pairs_module m = {.fd = fd};
	pairs_add(&p, &m, &named);
	close(fd);
	pairs_sort(&p);
	for (size_t i = 0; i < p.n && i < 64; i++) {
		struct dispatch d;
		if (dispatch_learn(&d, &p.v[i], &code))
			continue;
		for (uint64_t state = 0; state < 8; state++)
			dispatch_landing(&d, &p.v[i], &code, state);
		dispatch_deinit(&d);
	}
	pairs_deinit(&p);
	return 0;
}
