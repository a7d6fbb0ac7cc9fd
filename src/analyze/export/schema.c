// SPDX-License-Identifier: MIT
//
// The one description of the tables. Every target makes its own from it, rows are checked
// against it, and spec/sql.md has it as a table.
#include "analyze/export/schema.h"

#include <string.h>

#define INT SCHEMA_INT, false
#define INT_OR_NULL SCHEMA_INT, true
#define TEXT SCHEMA_TEXT, false
#define TEXT_OR_NULL SCHEMA_TEXT, true
#define BOOL SCHEMA_BOOL, false
#define BOOL_OR_NULL SCHEMA_BOOL, true
#define OF_TRACE \
	{ \
		"trace", INT, "traces.id" \
	}
#define T_NS "ns from the trace's start"

static const struct schema_column traces[] = {
	{"id", INT,
	 "of this trace in this database: days from 1970-01-01 to its start * 2^38, plus a number by chance"},
	{"uuid", TEXT, "of the run, as the trace carries it"},
	{"part", INT, "which snapshot of a --flight run; 0: the trace itself"},
	{"form", TEXT, "directory, lines (JSON lines) or core"},
	{"host", TEXT_OR_NULL, "on which it ran"},
	{"boot_id", TEXT_OR_NULL, "of that host, /proc/sys/kernel/random/boot_id"},
	{"exe", TEXT_OR_NULL, "the program's file"},
	{"command", TEXT_OR_NULL, "argv[0]; all words with --record-args"},
	{"build_id", TEXT_OR_NULL, "the program's GNU build id, hexadecimal"},
	{"ctp", TEXT_OR_NULL, "the version that recorded it"},
	{"labels", TEXT, "a JSON object of strings: the trace's own, and those of --label"},
	{"pid", INT_OR_NULL, "of the first process"},
	{"started_ns", INT_OR_NULL,
	 "ns since 1970-01-01 UTC; a time t_ns of this trace is started_ns + t_ns"},
	{"ended_ns", INT_OR_NULL, "ns since 1970-01-01 UTC, at the last snapshot"},
	{"duration_ns", INT, "ns from attach to the last snapshot"},
	{"events", INT, "records of every kind in the trace"},
	{"switches", INT, "control passing from one coroutine or native stack to another"},
	{"lost", INT, "records dropped, of all threads"},
	{"threads", INT, "threads that made a record"},
	{"coroutines", INT, "created + suspended + running + finished + destroyed"},
	{"created", INT_OR_NULL, "coroutines that never ran"},
	{"suspended", INT, "coroutines that saved themselves and left"},
	{"running", INT, "coroutines"},
	{"finished", INT, "coroutines that returned or left for good"},
	{"destroyed", INT_OR_NULL, "coroutines whose stack was released while they were suspended"},
	{"in_findings", INT, "suspended coroutines in findings about their wait"},
	{"healthy", INT, "suspended coroutines that wait for what can come"},
	{"parked", INT, "suspended coroutines without a known wait"},
	{"pooled", INT, "suspended coroutines that wait in a pool"},
	{"undecided", INT, "suspended coroutines of which nothing of that can be told"},
	{"healthy_waiters", INT, "as in the report"},
	{"findings", INT, "rows of findings"},
	{"complete", BOOL, "the last tables are there, so that verdicts could be given"},
	{"coverage", TEXT, "what was not seen or kept: sentences, one a line"},
	{"tables", TEXT, "which tables were exported, with commas between"},
	{"analyzed_by", TEXT, "the version of ctp-analyze that exported it"},
	{"loaded_ns", INT, "ns since 1970-01-01 UTC, when it was exported"},
};

static const struct schema_column coroutines[] = {
	OF_TRACE,
	{"id", INT, "never reused within the trace"},
	{"kind", TEXT, "coroutine, or thread: a thread's own stack, which counts as no coroutine"},
	{"pid", INT_OR_NULL, "of its process"},
	{"name", TEXT_OR_NULL, "that the program gave it"},
	{"entry", TEXT_OR_NULL, "the function that it was made for"},
	{"entry_file", TEXT_OR_NULL, "source file of that function"},
	{"entry_line", INT_OR_NULL, "line there"},
	{"state", TEXT, "created, suspended, running, finished or destroyed"},
	{"account", TEXT_OR_NULL, "of a suspended one: in findings, healthy, parked, pooled or undecided"},
	{"changes", INT, "times that it was suspended or resumed"},
	{"created_ns", INT_OR_NULL, T_NS},
	{"ended_ns", INT_OR_NULL, T_NS "; finished and destroyed ones"},
	{"since_ns", INT_OR_NULL, T_NS " of its last change"},
	{"suspended_ns", INT_OR_NULL, "ns from then to the snapshot, of a suspended one"},
	{"creator", INT_OR_NULL, "coroutines.id of its creator"},
	{"creator_site", TEXT_OR_NULL, "function that made it"},
	{"creator_stack", INT_OR_NULL, "stacks.id"},
	{"site", TEXT_OR_NULL,
	 "function where it is suspended or left last: the innermost that is no library's"},
	{"file", TEXT_OR_NULL, "source file of site"},
	{"line", INT_OR_NULL, "line there"},
	{"stack", INT_OR_NULL, "stacks.id of where it is suspended or left last"},
	{"fd", INT_OR_NULL, "descriptor that it waits for, the first one"},
	{"fd_gen", INT_OR_NULL, "generation of that number: fd 7, 3 is the third thing that was called 7"},
	{"ran_ns", INT, "ns that it ran, as far as the history tells"},
	{"waited_ns", INT, "ns that it was suspended and then resumed, as far as the history tells"},
	{"longest_slice_ns", INT, "ns of its longest run without leaving"},
	{"longest_wait_ns", INT, "ns of its longest wait that ended"},
};

static const struct schema_column sites[] = {
	OF_TRACE,
	{"stack", INT, "stacks.id"},
	{"measure", TEXT,
	 "wait: suspended there, then resumed; latency: from the event until it was resumed; slice: ran, then left there"},
	{"site", TEXT_OR_NULL, "the stack's innermost function that is no library's"},
	{"file", TEXT_OR_NULL, "its source file"},
	{"line", INT_OR_NULL, "line there"},
	{"n", INT, "how often"},
	{"sum_ns", INT, "ns in all"},
	{"max_ns", INT, "ns of the longest"},
};

static const struct schema_column histograms[] = {
	OF_TRACE,
	{"stack", INT, "stacks.id"},
	{"measure", TEXT, "as in sites"},
	{"le_ns", INT, "ns, upper bound of the bucket: powers of two and three steps between two of them"},
	{"site", TEXT_OR_NULL, "as in sites"},
	{"n", INT, "how many are above the bound before and not above this one"},
};

static const struct schema_column switches[] = {
	OF_TRACE,
	{"seq", INT, "1, 2 ... in the order of the trace"},
	{"t_ns", INT, T_NS},
	{"tid", INT, "thread"},
	{"from_id", INT_OR_NULL, "coroutines.id of the outgoing one; null: not known"},
	{"from_n", INT_OR_NULL, "which of its changes it is"},
	{"to_id", INT_OR_NULL, "coroutines.id of the incoming one; null: not known"},
	{"to_n", INT_OR_NULL, "which of its changes it is"},
	{"how", TEXT, "swap, set, gone, return, jump, fcontext, ontop; station: of a version-1 probe"},
	{"stack", INT_OR_NULL, "stacks.id of where from_id left"},
};

static const struct schema_column waits[] = {
	OF_TRACE,
	{"seq", INT, "1, 2 ... in the order of their ends; those that did not end last"},
	{"coroutine", INT, "coroutines.id"},
	{"began_ns", INT, T_NS},
	{"ended_ns", INT_OR_NULL, T_NS "; null: still suspended when the trace ended"},
	{"duration_ns", INT_OR_NULL, "ns"},
	{"stack", INT_OR_NULL, "stacks.id of where it was suspended"},
	{"fd", INT_OR_NULL, "whose event made it ready"},
	{"fd_gen", INT_OR_NULL, "generation of that number"},
	{"ready_ns", INT_OR_NULL, T_NS ", when that event was taken"},
	{"latency_ns", INT_OR_NULL, "ns from the event until it was resumed"},
};

static const struct schema_column slices[] = {
	OF_TRACE,
	{"seq", INT, "1, 2 ... in the order of their ends"},
	{"coroutine", INT, "coroutines.id"},
	{"tid", INT, "thread on which it left"},
	{"began_ns", INT, T_NS},
	{"ended_ns", INT, T_NS},
	{"duration_ns", INT, "ns that it ran without leaving"},
	{"stack", INT_OR_NULL, "stacks.id of where it left"},
};

static const struct schema_column events[] = {
	OF_TRACE,
	{"seq", INT, "1, 2 ... in the order of the trace"},
	{"t_ns", INT, T_NS},
	{"tid", INT, "thread"},
	{"kind", TEXT,
	 "create, finish, destroy, fd_open, fd_close, thread, exit, signal, ready, slept, or the number of another kind"},
	{"coroutine", INT_OR_NULL, "coroutines.id of the one that it is about"},
	{"other", INT_OR_NULL,
	 "coroutines.id: of create the creator, of destroy the destroyer, of ready the one that took the event"},
	{"how", TEXT_OR_NULL, "of fd_open and fd_close: the call"},
	{"fd", INT_OR_NULL, "descriptor"},
	{"fd_gen", INT_OR_NULL, "generation of that number"},
	{"value", INT_OR_NULL, "of exit the status, of signal its number, of slept ns, of thread its tid"},
	{"stack", INT_OR_NULL, "stacks.id"},
};

static const struct schema_column descriptors[] = {
	OF_TRACE,
	{"pid", INT_OR_NULL, "of the process whose number it is"},
	{"image", INT, "which program image of the trace"},
	{"fd", INT, "the number"},
	{"gen", INT, "generation of the number: 3 is the third thing that was called so"},
	{"kind", TEXT, "file, pipe, tcp, udp, unix, eventfd, timerfd, signalfd, epoll, other"},
	{"name", TEXT_OR_NULL, "addresses or path, as the kernel had them at the last look"},
	{"state", TEXT, "open or closed"},
	{"opened_by_call", TEXT_OR_NULL, "null: it was there before"},
	{"opened_ns", INT_OR_NULL, T_NS},
	{"opener", INT_OR_NULL, "coroutines.id"},
	{"opener_stack", INT_OR_NULL, "stacks.id"},
	{"closed_by_call", TEXT_OR_NULL, "of a closed one"},
	{"closed_ns", INT_OR_NULL, T_NS},
	{"closer", INT_OR_NULL, "coroutines.id"},
	{"closer_stack", INT_OR_NULL, "stacks.id"},
	{"registered_in", INT_OR_NULL, "the epoll set that it was last added to"},
};

static const struct schema_column stacks[] = {
	OF_TRACE,
	{"id", INT, "stack id of the image, plus the image's number * 2^20"},
	{"depth", INT, "rows of frames"},
	{"site", TEXT_OR_NULL,
	 "innermost function that is no library's; module+0x123 where there is no name"},
	{"file", TEXT_OR_NULL, "its source file"},
	{"line", INT_OR_NULL, "line there"},
	{"guessed", BOOL, "at least one frame was found by frame pointer"},
	{"truncated", BOOL, "there were more frames than are kept"},
};

static const struct schema_column frames[] = {
	OF_TRACE,
	{"stack", INT, "stacks.id"},
	{"level", INT, "0 is the innermost"},
	{"pc", TEXT, "address, 0x..."},
	{"module", TEXT_OR_NULL, "path of the object"},
	{"offset_in_module", TEXT, "address in the object's file, 0x..."},
	{"symbol", TEXT_OR_NULL, "function, demangled"},
	{"file", TEXT_OR_NULL, "source file, as the compiler saw it"},
	{"line", INT_OR_NULL, "line there"},
	{"inlined", BOOL, "it stands in the code of the next frame"},
};

static const struct schema_column findings[] = {
	OF_TRACE,
	{"id", INT, "1, 2 ... in the order of the report"},
	{"rule", TEXT, "CTP001 ..."},
	{"title", TEXT, "of the rule"},
	{"verdict", TEXT, "proven, likely, suspect or inconclusive"},
	{"fingerprint", TEXT,
	 "16 hexadecimal digits of rule and functions: the same in other runs and builds"},
	{"coroutines", INT, "rows of finding_coroutines"},
	{"message", TEXT, "one sentence"},
	{"host", TEXT, "as in traces; empty: not known"},
	{"started_ns", INT, "as in traces; 0: not known"},
	{"build_id", TEXT, "as in traces; empty: not known"},
	{"pid", INT_OR_NULL, "of the process"},
	{"fd", INT_OR_NULL, "the descriptor that it is about"},
	{"fd_gen", INT_OR_NULL, "generation of that number"},
	{"fd_kind", TEXT_OR_NULL, "as in descriptors"},
	{"fd_name", TEXT_OR_NULL, "addresses or path"},
	{"site", TEXT_OR_NULL, "function where the first coroutine waits, or did it"},
	{"file", TEXT_OR_NULL, "source file of site"},
	{"line", INT_OR_NULL, "line there"},
	{"closer", INT_OR_NULL, "coroutines.id of the closer, or of the one at fault"},
	{"closer_site", TEXT_OR_NULL, "function where that happened: the place to change"},
	{"closer_file", TEXT_OR_NULL, "source file of closer_site"},
	{"closer_line", INT_OR_NULL, "line there"},
	{"waiter_stack", INT_OR_NULL, "stacks.id"},
	{"closer_stack", INT_OR_NULL, "stacks.id"},
	{"creator_stack", INT_OR_NULL, "stacks.id"},
	{"opener_stack", INT_OR_NULL, "stacks.id"},
	{"closure", TEXT_OR_NULL, "unreachable or quiet: by what it is proven"},
	{"refuted_if", TEXT, "what would show that it is not so"},
	{"fix", TEXT_OR_NULL, "what to do"},
	{"known", BOOL, "it stands in the --baseline"},
};

static const struct schema_column finding_coroutines[] = {
	OF_TRACE,
	{"finding", INT, "findings.id"},
	{"nth", INT, "1 is the one that the finding's stacks are of"},
	{"coroutine", INT, "coroutines.id"},
	{"suspended_ns", INT, "ns up to the snapshot"},
	{"changes", INT, "as in coroutines"},
};

static const struct schema_column evidence[] = {
	OF_TRACE,
	{"finding", INT, "findings.id"},
	{"nth", INT, "1, 2 ..."},
	{"proof", TEXT, "P0 to P7; open: a way by which the program's own code could still resume it"},
	{"holds", BOOL_OR_NULL, "null: could not be decided"},
	{"text", TEXT_OR_NULL, "what was seen"},
};

static const struct schema_column timelines[] = {
	OF_TRACE,
	{"finding", INT, "findings.id"},
	{"nth", INT, "1, 2 ... in the order of time"},
	{"t_ns", INT, T_NS},
	{"coroutine", INT_OR_NULL, "coroutines.id"},
	{"what", TEXT, "what happened"},
};

static const struct schema_column facts[] = {
	OF_TRACE,
	{"nth", INT, "1, 2 ..."},
	{"rule", TEXT, "CTPnnn, or INFO"},
	{"n", INT, "how often"},
	{"message", TEXT, "one sentence"},
};

#define COLUMNS(of) of, sizeof(of) / sizeof(*(of))

#define TABLE(id, ...) [id] = {id, __VA_ARGS__}

const struct schema_table schema_tables[SCHEMA_TABLES] = {
	TABLE(SCHEMA_COROUTINES, "coroutines", "every coroutine, and each thread's own stack",
	      COLUMNS(coroutines), "trace, id"),
	TABLE(SCHEMA_SITES, "sites", "how long coroutines waited and ran, by stack: the history added up",
	      COLUMNS(sites), "trace, stack, measure"),
	TABLE(SCHEMA_HISTOGRAMS, "histograms", "the same as histograms, from which quantiles are made",
	      COLUMNS(histograms), "trace, stack, measure, le_ns"),
	TABLE(SCHEMA_SWITCHES, "switches", "every switch", COLUMNS(switches), "trace, seq", .history = true),
	TABLE(SCHEMA_WAITS, "waits", "every time that a coroutine was suspended", COLUMNS(waits),
	      "trace, seq", .history = true),
	TABLE(SCHEMA_SLICES, "slices", "every time that a coroutine ran", COLUMNS(slices), "trace, seq",
	      .history = true),
	TABLE(SCHEMA_EVENTS, "events", "all other records", COLUMNS(events), "trace, seq", .history = true),
	TABLE(SCHEMA_DESCRIPTORS, "descriptors", "every descriptor number that was seen, as it was last",
	      COLUMNS(descriptors), "trace, image, fd, gen"),
	TABLE(SCHEMA_STACKS, "stacks", "where something happened", COLUMNS(stacks), "trace, id"),
	TABLE(SCHEMA_FRAMES, "frames", "the functions of stacks", COLUMNS(frames), "trace, stack, level"),
	TABLE(SCHEMA_FINDINGS, "findings", "what is wrong, by place", COLUMNS(findings), "trace, id",
	      "fingerprint, host, started_ns, trace, id"),
	TABLE(SCHEMA_FINDING_COROUTINES, "finding_coroutines", "which coroutines a finding is about",
	      COLUMNS(finding_coroutines), "trace, finding, nth"),
	TABLE(SCHEMA_EVIDENCE, "evidence", "what speaks for a finding, and what is open", COLUMNS(evidence),
	      "trace, finding, nth"),
	TABLE(SCHEMA_TIMELINES, "timelines", "what happened before a finding", COLUMNS(timelines),
	      "trace, finding, nth"),
	TABLE(SCHEMA_FACTS, "facts", "what is merely so", COLUMNS(facts), "trace, nth"),
	TABLE(SCHEMA_TRACES, "traces", "one row a trace, written last: a trace counts once its row is there",
	      COLUMNS(traces), "id"),
};

const struct schema_table *schema_find(const char *name, size_t n)
{
	for (unsigned i = 0; i < SCHEMA_TABLES; i++)
		if (strlen(schema_tables[i].name) == n && !memcmp(schema_tables[i].name, name, n))
			return &schema_tables[i];
	return NULL;
}
