// SPDX-License-Identifier: MIT
//
// An object file with events: the descriptors of ctp/event.h, and USDT notes.
#include "engine/uprobes/uprobes.h"

#include <fcntl.h>
#include <unistd.h>

#include "fuzz.h"

const char fuzz_name[] = "elf_events";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = open(fuzz_file("module", data, size), O_RDONLY | O_CLOEXEC);
	struct elf_events all = {0};
	if (fd < 0)
		return 0;
	elf_events_read(&all, fd);
	for (size_t i = 0; i < all.n; i++) {
		char how[160];
		uprobes_describe(&all.items[i], true, "", how, sizeof(how));
	}
	elf_events_deinit(&all);
	close(fd);
	return 0;
}
