// SPDX-License-Identifier: MIT
//
// A process that ends while its tables are read has no row.
#include "ps/print/processes.h"

#include <inttypes.h>
#include <jansson.h>

#include "base/json.h"
#include "ps/read/tables.h"

static void text_row(FILE *out, const struct found *f, const struct tables *t, bool first)
{
	char command[160], engine[16];
	find_command(f->pid, command, sizeof(command));
	snprintf(engine, sizeof(engine), f->engine ? "%d" : "gone", (int)f->engine);
	if (first)
		fprintf(out, "%8s %11s %10s %9s %9s %9s  %s\n", "PID", "COROUTINES", "SUSPENDED", "RUNNING",
			"THREADS", "CTP-RUN", "COMMAND");
	fprintf(out, "%8d %11zu %10" PRIu64 " %9" PRIu64 " %9zu %9s  %s\n", (int)f->pid, t->n, t->suspended,
		t->running, t->nthreads, engine, command);
}

static json_t *json_row(const struct found *f, const struct tables *t)
{
	char command[FIND_COMMAND];
	find_command(f->pid, command, sizeof(command));
	return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "pid", (int)f->pid, "ctp_run",
			 f->engine ? json_integer(f->engine) : json_null(), "command", json_text(command),
			 "created", json_count(t->created), "suspended", json_count(t->suspended), "running",
			 json_count(t->running), "threads", json_count(t->nthreads));
}

size_t processes_write(FILE *out, const struct found *all, size_t n, bool json)
{
	json_t *a = json ? json_array() : NULL;
	size_t shown = 0;
	for (size_t i = 0; i < n; i++) {
		struct tables t;
		if (tables_read(&t, &all[i], false))
			continue;
		if (json)
			json_array_append_new(a, json_row(&all[i], &t));
		else
			text_row(out, &all[i], &t, shown == 0);
		shown++;
		tables_deinit(&t);
	}
	if (json) {
		json_t *o = json_pack("{s:i, s:s, s:o}", "version", 2, "tool", "ctp-ps " CTP_TOOL_VERSION,
				      "processes", a);
		json_dumpf(o, out, JSON_INDENT(1));
		fputc('\n', out);
		json_decref(o);
	}
	return shown;
}
