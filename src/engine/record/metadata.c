// SPDX-License-Identifier: MIT
//
// The TSDL text describes ring records to any CTF reader. It has one clock, whose offset
// places the counter's zero in real time. The text is written before the program starts, and
// again when the clock's rate is known better: over the first, as what stands there keeps its
// length, which needs no space on a full disk. Events of the program's own come at its end.
#include "engine/record/ctf.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char head[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"typealias integer { size = 40; align = 8; signed = false; } := id40;\n"
	"typealias integer { size = 24; align = 8; signed = false; } := stack24;\n"
	"typealias integer { size = 64; align = 8; signed = false; base = 16; } := addr64;\n"
	"trace {\n\tmajor = 1;\n\tminor = 8;\n\tbyte_order = le;\n"
	"\tpacket.header := struct {\n\t\tuint32_t magic;\n\t\tuint32_t stream_id;\n\t};\n};\n"
	"env {\n\tdomain = \"ust\";\n\ttracer_name = \"ctp\";\n\ttracer_major = 0;\n\ttracer_minor = 1;\n};\n";

static const char streams[] =
	"typealias integer { size = 64; align = 8; signed = false; map = clock.ctp.value; } := ticks64;\n"
	"typealias integer { size = 56; align = 8; signed = false; map = clock.ctp.value; } := ticks56;\n"
	"typealias integer { size = 22; align = 1; signed = false; } := short22;\n"
	"typealias integer { size = 20; align = 1; signed = false; } := stack20;\n"
	"enum how_t : uint8_t { none = 0, swap = 1, set = 2, gone = 3, return = 4, jump = 5,\n"
	"\tfcontext = 6, ontop = 7, released = 8, reused = 9, other = 10 ... 255 };\n"
	"struct context_t {\n\tticks64 timestamp_begin;\n\tticks64 timestamp_end;\n"
	"\tuint64_t content_size;\n\tuint64_t packet_size;\n\tuint64_t events_discarded;\n"
	"\tuint32_t tid;\n\tuint32_t thread;\n\tuint64_t packet_seq;\n"
	"\tuint64_t near;\n\tuint64_t native;\n\tuint64_t current;\n\tuint32_t current_n;\n\tuint32_t reserved;\n};\n"
	"struct record_t {\n\tuint8_t id;\n\tticks56 timestamp;\n};\n"
	"struct event_t {\n\tuint32_t id;\n\tticks64 timestamp;\n};\n"
	"struct station_t {\n\tticks64 timestamp;\n\tuint8_t id;\n};\n"
	"stream {\n\tid = 0;\n\tpacket.context := struct context_t;\n\tevent.header := struct record_t;\n};\n"
	"stream {\n\tid = 1;\n\tpacket.context := struct context_t;\n\tevent.header := struct station_t;\n};\n"
	"stream {\n\tid = 2;\n\tpacket.context := struct context_t;\n\tevent.header := struct event_t;\n};\n";

// Names of a record's parts, by kind, where it takes two slots. `how`: an enumeration, or a number.
static const struct {
	unsigned id;
	const char *name, *how, *a, *b, *word3;
} kinds[] = {
	{CTP_EV_SWITCH, "switch", "struct", "from", "to", "\t\tuint32_t from_n;\n\t\tuint32_t to_n;\n"},
	{CTP_EV_CREATE, "create", "", "id", "creator", "\t\taddr64 entry;\n"},
	{CTP_EV_FINISH, "finish", "struct", "id", "by", "\t\tuint64_t zero;\n"},
	{CTP_EV_DESTROY, "destroy", "struct", "id", "by", "\t\tuint64_t zero;\n"},
	{CTP_EV_FD_OPEN, "fd_open", "", "by", "zero", "\t\tuint32_t fd;\n\t\tuint32_t gen;\n"},
	{CTP_EV_FD_CLOSE, "fd_close", "", "by", "zero", "\t\tuint32_t fd;\n\t\tuint32_t gen;\n"},
	{CTP_EV_THREAD, "thread", "", "native", "zero", "\t\tuint64_t tid;\n"},
	{CTP_EV_EXIT, "exit", "", "by", "zero", "\t\tuint64_t status;\n"},
	{CTP_EV_SIGNAL, "signal", "", "by", "zero", "\t\tuint64_t signo;\n"},
	{CTP_EV_READY, "ready", "", "id", "by", "\t\tuint32_t fd;\n\t\tuint32_t gen;\n"},
	{CTP_EV_SLEPT, "slept", "", "by", "zero", "\t\tuint64_t ticks;\n"},
};

static const char *const hows[] = {"none", "swap", "set", "gone", "return", "jump", "fcontext", "ontop"};

static void print(FILE *f, const struct clock_pairs *c, const struct event_classes *classes)
{
	// clock value 0 was at: real0 - ticks0 / hz, in whole seconds and ticks
	uint64_t hz = (uint64_t)(clock_hz(c) + 0.5);
	uint64_t s = c->ticks0 / hz, rest = c->ticks0 % hz;
	uint64_t real_s = c->real0 / 1000000000, real_ns = c->real0 % 1000000000;
	int64_t offset = (int64_t)((double)real_ns * 1e-9 * (double)hz) - (int64_t)rest;
	int64_t offset_s = (int64_t)(real_s - s);
	if (offset < 0) {
		offset += (int64_t)hz;
		offset_s--;
	}
	fputs(head, f);
	fprintf(f,
		"clock {\n\tname = \"ctp\";\n\tdescription = \"%s\";\n\tfreq = %20" PRIu64
		";\n\toffset_s = %20" PRId64 ";\n\toffset = %20" PRId64 ";\n};\n",
		c->tsc ? "TSC" : "CLOCK_MONOTONIC", hz, offset_s, offset);
	fputs(streams, f);
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		fprintf(f,
			"event {\n\tid = %u;\n\tname = \"ctp:%s\";\n\tstream_id = 0;\n\tfields := struct {\n"
			"\t\tid40 %s;\n\t\tstack24 stack;\n\t\tuint8_t rest;\n\t\t%s how;\n\t\tid40 %s;\n"
			"\t\tuint8_t mark;\n%s\t};\n};\n",
			kinds[i].id, kinds[i].name, kinds[i].b, *kinds[i].how ? "enum how_t" : "uint8_t",
			kinds[i].a, kinds[i].word3);
	for (unsigned how = CTP_HOW_SWAP; how <= CTP_HOW_ONTOP; how++)
		fprintf(f,
			"event {\n\tid = %u;\n\tname = \"ctp:switch_%s\";\n\tstream_id = 0;\n\tfields := struct {\n"
			"\t\tshort22 to;\n\t\tstack20 stack;\n\t\tshort22 to_n;\n\t};\n};\n",
			CTP_EV_SHORT + how, hows[how]);
	fprintf(f,
		"event {\n\tid = %u;\n\tname = \"ctp:station\";\n\tstream_id = 1;\n\tfields := struct {\n"
		"\t\tuint8_t active;\n\t\tuint8_t finished;\n\t\tuint8_t reserved[5];\n\t\tuint64_t id;\n"
		"\t\tuint64_t n;\n\t\tuint64_t tid;\n\t\taddr64 addr;\n\t\taddr64 station_probe_id;\n"
		"\t\tuint64_t ts_ns;\n\t};\n};\n",
		CTP_EV_STATION);
	fprintf(f,
		"event {\n\tid = %u;\n\tname = \"ctp:dead\";\n\tstream_id = 1;\n\tfields := struct {\n"
		"\t\tuint8_t active;\n\t\tuint8_t reserved[6];\n\t\tuint64_t id;\n\t\tuint64_t n;\n"
		"\t\tuint64_t reserved_tid;\n\t\tuint64_t reserved_addr;\n\t\taddr64 station_probe_id;\n"
		"\t\tuint64_t ts_ns;\n\t};\n};\n",
		CTP_EV_STATION_END);
	event_classes_print(classes, f);
}

static int write_text(int dir, const char *name, const char *text, size_t bytes)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	ssize_t n = pwrite(fd, text, bytes, 0);
	int r = n < 0 ? -errno : n < (ssize_t)bytes ? -ENOSPC : 0;
	if (close(fd) < 0 && !r)
		r = -errno;
	return r;
}

int ctf_metadata(int dir, const struct clock_pairs *clock, bool compress, const struct event_classes *classes)
{
	char *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);
	if (!f)
		return -ENOMEM;
	print(f, clock, classes);
	int r = fclose(f) ? -ENOMEM : write_text(dir, compress ? "ctp/tsdl" : "metadata", text, bytes);
	free(text);
	return r;
}
