// SPDX-License-Identifier: MIT
//
// module_scan.h - the files that a process has mapped, and how each of them switches
// stacks: by calls that libctp.so sees, and by code that it cannot see.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ctp/region.h"
#include "engine/coverage/switch_code.h"
#include "engine/coverage/switch_signatures.h"

enum { MODULE_SCAN_SEEN = 16, MODULE_SCAN_CODE = 16 };

// What libctp.so found of known code in an object: functions that no call by a name leads to.
struct module_scan_functions {
	char patched[sizeof(((struct ctp_switch_function *)0)->kind)]; // of which library; "" = none
	char refused[sizeof(((struct ctp_switch_function *)0)->kind)];
	uint16_t reason;                 // ctp_switch_function.reason
	bool interposed;                 // it is not patched, but calls of it come by its name
	uint64_t at;                     // of the one that was refused, from the begin of the object
	uint64_t seen[MODULE_SCAN_SEEN]; // where those begin whose switches are seen, from there
	unsigned nseen;
};

struct module_scan_object {
	uint64_t ino;
	uint32_t major, minor;
	int fd;     // until it has been read
	char *path; // as the process sees it
	struct switch_signatures signatures;
	struct module_scan_functions functions;
	struct switch_code code[MODULE_SCAN_CODE]; // that switches stacks
	unsigned ncode;
};

struct module_scan {
	struct module_scan_object *v; // in the order of discovery
	size_t n, capacity;
	size_t read;   // so many have been read
	size_t unread; // could not be opened or read (whole)
	bool full;     // there were more
};

// When to read the mappings of one process again: at once if zero, ever more rarely after that.
struct module_scan_watch {
	uint64_t again_ns, step_ns;
};

// Opens what the process has mapped by now and had not before, and notes which of it has functions in
// the region's table. Cheap; reads no file. r: NULL, where there is none.
void module_scan_find(struct module_scan *s, pid_t pid, const struct ctp_region *r);
// Notes the functions in the region's table, of objects whose mappings were never read, too: the process may
// have gone, or be closed to us.
void module_scan_functions(struct module_scan *s, const struct ctp_region *r);
// The same as module_scan_find, if it is time.
void module_scan_turn(struct module_scan *s, struct module_scan_watch *w, pid_t pid,
		      const struct ctp_region *r, uint64_t now_ns);
// Reads one file. False if none is left to read.
bool module_scan_read(struct module_scan *s);
// What was looked for and where it was found, as part of a sentence. Bounded.
void module_scan_text(const struct module_scan *s, char *out, size_t bytes);
// The switches of the object i that cannot be seen, as a sentence. False: it shows none.
bool module_scan_hidden(const struct module_scan *s, size_t i, char *out, size_t bytes);
// The same of all objects, as part of one sentence. Bounded; "" if there are none.
void module_scan_hidden_all(const struct module_scan *s, char *out, size_t bytes);
void module_scan_deinit(struct module_scan *s);
