// SPDX-License-Identifier: MIT
//
// module.h - one object file and its debug information.
#pragma once

#include <sys/types.h>

#include "symbols/symbols.h"

struct module; // opened at the first look

struct module_frames {
	struct symbols_frame *items; // strings are owned by the frames
	size_t n, capacity;
};

int module_new(struct module **out, const struct symbols_module *what, const char *symfs);
void module_free(struct module *m);
// Appends the frames of `address` (a pc within the instruction meant);
// frames show `pc`. 0 or -ENOMEM.
int module_find(struct module *m, uint64_t address, uint64_t pc, struct module_frames *out);
// The line at which the function that has `address` is declared; 0: not known.
int module_declared(struct module *m, uint64_t address);
// Where the coroutine function that has `address` awaits, if that is one place (awaits.h); 0: not known.
uint64_t module_awaits(struct module *m, uint64_t address);
uint64_t module_promise(struct module *m, uint64_t address); // awaits_promise of that function
// The file there now has another build id than the one that ran.
bool module_mismatch(const struct module *m);
// Who owns its file, if nobody else may write to it. False: not so, or there is no such file.
bool module_owner(const struct module *m, uid_t *owner);
// Where its file lies, without links; NULL: not known.
const char *module_real_path(const struct module *m);
void module_frames_deinit(struct module_frames *f);
