// SPDX-License-Identifier: MIT
//
// An object file of the program's, in which ctp-run looks for switches that go past the hooks.
#include "engine/coverage/switch_signatures.h"

#include <fcntl.h>
#include <unistd.h>

#include "fuzz.h"

const char fuzz_name[] = "signs";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct switch_signatures s = { 0 };
	int fd = open(fuzz_file("object", data, size), O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	switch_signatures_read(&s, fd);
	close(fd);
	return 0;
}
