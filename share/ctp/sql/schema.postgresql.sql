-- SPDX-License-Identifier: MIT
-- Made by scripts/sql-schema from src/analyze/export/schema.c and the views beside: spec/sql.md

CREATE TABLE IF NOT EXISTS "coroutines" (
  "trace" bigint NOT NULL,
  "id" bigint NOT NULL,
  "kind" text NOT NULL,
  "pid" bigint,
  "name" text,
  "entry" text,
  "entry_file" text,
  "entry_line" bigint,
  "state" text NOT NULL,
  "account" text,
  "changes" bigint NOT NULL,
  "created_ns" bigint,
  "ended_ns" bigint,
  "since_ns" bigint,
  "suspended_ns" bigint,
  "creator" bigint,
  "creator_site" text,
  "creator_stack" bigint,
  "site" text,
  "file" text,
  "line" bigint,
  "stack" bigint,
  "fd" bigint,
  "fd_gen" bigint,
  "ran_ns" bigint NOT NULL,
  "waited_ns" bigint NOT NULL,
  "longest_slice_ns" bigint NOT NULL,
  "longest_wait_ns" bigint NOT NULL,
  PRIMARY KEY ("trace", "id")
);

COMMENT ON COLUMN "coroutines"."trace" IS 'traces.id';

COMMENT ON COLUMN "coroutines"."id" IS 'never reused within the trace';

COMMENT ON COLUMN "coroutines"."kind" IS 'coroutine, or thread: a thread''s own stack, which counts as no coroutine';

COMMENT ON COLUMN "coroutines"."pid" IS 'of its process';

COMMENT ON COLUMN "coroutines"."name" IS 'that the program gave it';

COMMENT ON COLUMN "coroutines"."entry" IS 'the function that it was made for';

COMMENT ON COLUMN "coroutines"."entry_file" IS 'source file of that function';

COMMENT ON COLUMN "coroutines"."entry_line" IS 'line there';

COMMENT ON COLUMN "coroutines"."state" IS 'created, suspended, running, finished or destroyed';

COMMENT ON COLUMN "coroutines"."account" IS 'of a suspended one: in findings, healthy, parked, pooled or undecided';

COMMENT ON COLUMN "coroutines"."changes" IS 'times that it was suspended or resumed';

COMMENT ON COLUMN "coroutines"."created_ns" IS 'ns from the trace''s start';

COMMENT ON COLUMN "coroutines"."ended_ns" IS 'ns from the trace''s start; finished and destroyed ones';

COMMENT ON COLUMN "coroutines"."since_ns" IS 'ns from the trace''s start of its last change';

COMMENT ON COLUMN "coroutines"."suspended_ns" IS 'ns from then to the snapshot, of a suspended one';

COMMENT ON COLUMN "coroutines"."creator" IS 'coroutines.id of its creator';

COMMENT ON COLUMN "coroutines"."creator_site" IS 'function that made it';

COMMENT ON COLUMN "coroutines"."creator_stack" IS 'stacks.id';

COMMENT ON COLUMN "coroutines"."site" IS 'function where it is suspended or left last: the innermost that is no library''s';

COMMENT ON COLUMN "coroutines"."file" IS 'source file of site';

COMMENT ON COLUMN "coroutines"."line" IS 'line there';

COMMENT ON COLUMN "coroutines"."stack" IS 'stacks.id of where it is suspended or left last';

COMMENT ON COLUMN "coroutines"."fd" IS 'descriptor that it waits for, the first one';

COMMENT ON COLUMN "coroutines"."fd_gen" IS 'generation of that number: fd 7, 3 is the third thing that was called 7';

COMMENT ON COLUMN "coroutines"."ran_ns" IS 'ns that it ran, as far as the history tells';

COMMENT ON COLUMN "coroutines"."waited_ns" IS 'ns that it was suspended and then resumed, as far as the history tells';

COMMENT ON COLUMN "coroutines"."longest_slice_ns" IS 'ns of its longest run without leaving';

COMMENT ON COLUMN "coroutines"."longest_wait_ns" IS 'ns of its longest wait that ended';

COMMENT ON TABLE "coroutines" IS 'every coroutine, and each thread''s own stack';

CREATE TABLE IF NOT EXISTS "sites" (
  "trace" bigint NOT NULL,
  "stack" bigint NOT NULL,
  "measure" text NOT NULL,
  "site" text,
  "file" text,
  "line" bigint,
  "n" bigint NOT NULL,
  "sum_ns" bigint NOT NULL,
  "max_ns" bigint NOT NULL,
  PRIMARY KEY ("trace", "stack", "measure")
);

COMMENT ON COLUMN "sites"."trace" IS 'traces.id';

COMMENT ON COLUMN "sites"."stack" IS 'stacks.id';

COMMENT ON COLUMN "sites"."measure" IS 'wait: suspended there, then resumed; latency: from the event until it was resumed; slice: ran, then left there';

COMMENT ON COLUMN "sites"."site" IS 'the stack''s innermost function that is no library''s';

COMMENT ON COLUMN "sites"."file" IS 'its source file';

COMMENT ON COLUMN "sites"."line" IS 'line there';

COMMENT ON COLUMN "sites"."n" IS 'how often';

COMMENT ON COLUMN "sites"."sum_ns" IS 'ns in all';

COMMENT ON COLUMN "sites"."max_ns" IS 'ns of the longest';

COMMENT ON TABLE "sites" IS 'how long coroutines waited and ran, by stack: the history added up';

CREATE TABLE IF NOT EXISTS "histograms" (
  "trace" bigint NOT NULL,
  "stack" bigint NOT NULL,
  "measure" text NOT NULL,
  "le_ns" bigint NOT NULL,
  "site" text,
  "n" bigint NOT NULL,
  PRIMARY KEY ("trace", "stack", "measure", "le_ns")
);

COMMENT ON COLUMN "histograms"."trace" IS 'traces.id';

COMMENT ON COLUMN "histograms"."stack" IS 'stacks.id';

COMMENT ON COLUMN "histograms"."measure" IS 'as in sites';

COMMENT ON COLUMN "histograms"."le_ns" IS 'ns, upper bound of the bucket: powers of two and three steps between two of them';

COMMENT ON COLUMN "histograms"."site" IS 'as in sites';

COMMENT ON COLUMN "histograms"."n" IS 'how many are above the bound before and not above this one';

COMMENT ON TABLE "histograms" IS 'the same as histograms, from which quantiles are made';

CREATE TABLE IF NOT EXISTS "switches" (
  "trace" bigint NOT NULL,
  "seq" bigint NOT NULL,
  "t_ns" bigint NOT NULL,
  "tid" bigint NOT NULL,
  "from_id" bigint,
  "from_n" bigint,
  "to_id" bigint,
  "to_n" bigint,
  "how" text NOT NULL,
  "stack" bigint
);

CREATE INDEX IF NOT EXISTS "switches_by_trace" ON "switches" USING brin ("trace");

COMMENT ON COLUMN "switches"."trace" IS 'traces.id';

COMMENT ON COLUMN "switches"."seq" IS '1, 2 ... in the order of the trace';

COMMENT ON COLUMN "switches"."t_ns" IS 'ns from the trace''s start';

COMMENT ON COLUMN "switches"."tid" IS 'thread';

COMMENT ON COLUMN "switches"."from_id" IS 'coroutines.id of the outgoing one; null: not known';

COMMENT ON COLUMN "switches"."from_n" IS 'which of its changes it is';

COMMENT ON COLUMN "switches"."to_id" IS 'coroutines.id of the incoming one; null: not known';

COMMENT ON COLUMN "switches"."to_n" IS 'which of its changes it is';

COMMENT ON COLUMN "switches"."how" IS 'swap, set, gone, return, jump, fcontext, ontop; station: of a version-1 probe';

COMMENT ON COLUMN "switches"."stack" IS 'stacks.id of where from_id left';

COMMENT ON TABLE "switches" IS 'every switch';

CREATE TABLE IF NOT EXISTS "waits" (
  "trace" bigint NOT NULL,
  "seq" bigint NOT NULL,
  "coroutine" bigint NOT NULL,
  "began_ns" bigint NOT NULL,
  "ended_ns" bigint,
  "duration_ns" bigint,
  "stack" bigint,
  "fd" bigint,
  "fd_gen" bigint,
  "ready_ns" bigint,
  "latency_ns" bigint
);

CREATE INDEX IF NOT EXISTS "waits_by_trace" ON "waits" USING brin ("trace");

COMMENT ON COLUMN "waits"."trace" IS 'traces.id';

COMMENT ON COLUMN "waits"."seq" IS '1, 2 ... in the order of their ends; those that did not end last';

COMMENT ON COLUMN "waits"."coroutine" IS 'coroutines.id';

COMMENT ON COLUMN "waits"."began_ns" IS 'ns from the trace''s start';

COMMENT ON COLUMN "waits"."ended_ns" IS 'ns from the trace''s start; null: still suspended when the trace ended';

COMMENT ON COLUMN "waits"."duration_ns" IS 'ns';

COMMENT ON COLUMN "waits"."stack" IS 'stacks.id of where it was suspended';

COMMENT ON COLUMN "waits"."fd" IS 'whose event made it ready';

COMMENT ON COLUMN "waits"."fd_gen" IS 'generation of that number';

COMMENT ON COLUMN "waits"."ready_ns" IS 'ns from the trace''s start, when that event was taken';

COMMENT ON COLUMN "waits"."latency_ns" IS 'ns from the event until it was resumed';

COMMENT ON TABLE "waits" IS 'every time that a coroutine was suspended';

CREATE TABLE IF NOT EXISTS "slices" (
  "trace" bigint NOT NULL,
  "seq" bigint NOT NULL,
  "coroutine" bigint NOT NULL,
  "tid" bigint NOT NULL,
  "began_ns" bigint NOT NULL,
  "ended_ns" bigint NOT NULL,
  "duration_ns" bigint NOT NULL,
  "stack" bigint
);

CREATE INDEX IF NOT EXISTS "slices_by_trace" ON "slices" USING brin ("trace");

COMMENT ON COLUMN "slices"."trace" IS 'traces.id';

COMMENT ON COLUMN "slices"."seq" IS '1, 2 ... in the order of their ends';

COMMENT ON COLUMN "slices"."coroutine" IS 'coroutines.id';

COMMENT ON COLUMN "slices"."tid" IS 'thread on which it left';

COMMENT ON COLUMN "slices"."began_ns" IS 'ns from the trace''s start';

COMMENT ON COLUMN "slices"."ended_ns" IS 'ns from the trace''s start';

COMMENT ON COLUMN "slices"."duration_ns" IS 'ns that it ran without leaving';

COMMENT ON COLUMN "slices"."stack" IS 'stacks.id of where it left';

COMMENT ON TABLE "slices" IS 'every time that a coroutine ran';

CREATE TABLE IF NOT EXISTS "events" (
  "trace" bigint NOT NULL,
  "seq" bigint NOT NULL,
  "t_ns" bigint NOT NULL,
  "tid" bigint NOT NULL,
  "kind" text NOT NULL,
  "coroutine" bigint,
  "other" bigint,
  "how" text,
  "fd" bigint,
  "fd_gen" bigint,
  "value" bigint,
  "stack" bigint
);

CREATE INDEX IF NOT EXISTS "events_by_trace" ON "events" USING brin ("trace");

COMMENT ON COLUMN "events"."trace" IS 'traces.id';

COMMENT ON COLUMN "events"."seq" IS '1, 2 ... in the order of the trace';

COMMENT ON COLUMN "events"."t_ns" IS 'ns from the trace''s start';

COMMENT ON COLUMN "events"."tid" IS 'thread';

COMMENT ON COLUMN "events"."kind" IS 'create, finish, destroy, fd_open, fd_close, thread, exit, signal, ready, slept, or the number of another kind';

COMMENT ON COLUMN "events"."coroutine" IS 'coroutines.id of the one that it is about';

COMMENT ON COLUMN "events"."other" IS 'coroutines.id: of create the creator, of destroy the destroyer, of ready the one that took the event';

COMMENT ON COLUMN "events"."how" IS 'of fd_open and fd_close: the call';

COMMENT ON COLUMN "events"."fd" IS 'descriptor';

COMMENT ON COLUMN "events"."fd_gen" IS 'generation of that number';

COMMENT ON COLUMN "events"."value" IS 'of exit the status, of signal its number, of slept ns, of thread its tid';

COMMENT ON COLUMN "events"."stack" IS 'stacks.id';

COMMENT ON TABLE "events" IS 'all other records';

CREATE TABLE IF NOT EXISTS "descriptors" (
  "trace" bigint NOT NULL,
  "pid" bigint,
  "image" bigint NOT NULL,
  "fd" bigint NOT NULL,
  "gen" bigint NOT NULL,
  "kind" text NOT NULL,
  "name" text,
  "state" text NOT NULL,
  "opened_by_call" text,
  "opened_ns" bigint,
  "opener" bigint,
  "opener_stack" bigint,
  "closed_by_call" text,
  "closed_ns" bigint,
  "closer" bigint,
  "closer_stack" bigint,
  "registered_in" bigint,
  PRIMARY KEY ("trace", "image", "fd", "gen")
);

COMMENT ON COLUMN "descriptors"."trace" IS 'traces.id';

COMMENT ON COLUMN "descriptors"."pid" IS 'of the process whose number it is';

COMMENT ON COLUMN "descriptors"."image" IS 'which program image of the trace';

COMMENT ON COLUMN "descriptors"."fd" IS 'the number';

COMMENT ON COLUMN "descriptors"."gen" IS 'generation of the number: 3 is the third thing that was called so';

COMMENT ON COLUMN "descriptors"."kind" IS 'file, pipe, tcp, udp, unix, eventfd, timerfd, signalfd, epoll, other';

COMMENT ON COLUMN "descriptors"."name" IS 'addresses or path, as the kernel had them at the last look';

COMMENT ON COLUMN "descriptors"."state" IS 'open or closed';

COMMENT ON COLUMN "descriptors"."opened_by_call" IS 'null: it was there before';

COMMENT ON COLUMN "descriptors"."opened_ns" IS 'ns from the trace''s start';

COMMENT ON COLUMN "descriptors"."opener" IS 'coroutines.id';

COMMENT ON COLUMN "descriptors"."opener_stack" IS 'stacks.id';

COMMENT ON COLUMN "descriptors"."closed_by_call" IS 'of a closed one';

COMMENT ON COLUMN "descriptors"."closed_ns" IS 'ns from the trace''s start';

COMMENT ON COLUMN "descriptors"."closer" IS 'coroutines.id';

COMMENT ON COLUMN "descriptors"."closer_stack" IS 'stacks.id';

COMMENT ON COLUMN "descriptors"."registered_in" IS 'the epoll set that it was last added to';

COMMENT ON TABLE "descriptors" IS 'every descriptor number that was seen, as it was last';

CREATE TABLE IF NOT EXISTS "stacks" (
  "trace" bigint NOT NULL,
  "id" bigint NOT NULL,
  "depth" bigint NOT NULL,
  "site" text,
  "file" text,
  "line" bigint,
  "guessed" boolean NOT NULL,
  "truncated" boolean NOT NULL,
  PRIMARY KEY ("trace", "id")
);

COMMENT ON COLUMN "stacks"."trace" IS 'traces.id';

COMMENT ON COLUMN "stacks"."id" IS 'stack id of the image, plus the image''s number * 2^20';

COMMENT ON COLUMN "stacks"."depth" IS 'rows of frames';

COMMENT ON COLUMN "stacks"."site" IS 'innermost function that is no library''s; module+0x123 where there is no name';

COMMENT ON COLUMN "stacks"."file" IS 'its source file';

COMMENT ON COLUMN "stacks"."line" IS 'line there';

COMMENT ON COLUMN "stacks"."guessed" IS 'at least one frame was found by frame pointer';

COMMENT ON COLUMN "stacks"."truncated" IS 'there were more frames than are kept';

COMMENT ON TABLE "stacks" IS 'where something happened';

CREATE TABLE IF NOT EXISTS "frames" (
  "trace" bigint NOT NULL,
  "stack" bigint NOT NULL,
  "level" bigint NOT NULL,
  "pc" text NOT NULL,
  "module" text,
  "offset_in_module" text NOT NULL,
  "symbol" text,
  "file" text,
  "line" bigint,
  "inlined" boolean NOT NULL,
  PRIMARY KEY ("trace", "stack", "level")
);

COMMENT ON COLUMN "frames"."trace" IS 'traces.id';

COMMENT ON COLUMN "frames"."stack" IS 'stacks.id';

COMMENT ON COLUMN "frames"."level" IS '0 is the innermost';

COMMENT ON COLUMN "frames"."pc" IS 'address, 0x...';

COMMENT ON COLUMN "frames"."module" IS 'path of the object';

COMMENT ON COLUMN "frames"."offset_in_module" IS 'address in the object''s file, 0x...';

COMMENT ON COLUMN "frames"."symbol" IS 'function, demangled';

COMMENT ON COLUMN "frames"."file" IS 'source file, as the compiler saw it';

COMMENT ON COLUMN "frames"."line" IS 'line there';

COMMENT ON COLUMN "frames"."inlined" IS 'it stands in the code of the next frame';

COMMENT ON TABLE "frames" IS 'the functions of stacks';

CREATE TABLE IF NOT EXISTS "findings" (
  "trace" bigint NOT NULL,
  "id" bigint NOT NULL,
  "rule" text NOT NULL,
  "title" text NOT NULL,
  "verdict" text NOT NULL,
  "fingerprint" text NOT NULL,
  "coroutines" bigint NOT NULL,
  "message" text NOT NULL,
  "host" text NOT NULL,
  "started_ns" bigint NOT NULL,
  "build_id" text NOT NULL,
  "pid" bigint,
  "fd" bigint,
  "fd_gen" bigint,
  "fd_kind" text,
  "fd_name" text,
  "site" text,
  "file" text,
  "line" bigint,
  "closer" bigint,
  "closer_site" text,
  "closer_file" text,
  "closer_line" bigint,
  "waiter_stack" bigint,
  "closer_stack" bigint,
  "creator_stack" bigint,
  "opener_stack" bigint,
  "closure" text,
  "refuted_if" text NOT NULL,
  "fix" text,
  "known" boolean NOT NULL,
  PRIMARY KEY ("trace", "id")
);

COMMENT ON COLUMN "findings"."trace" IS 'traces.id';

COMMENT ON COLUMN "findings"."id" IS '1, 2 ... in the order of the report';

COMMENT ON COLUMN "findings"."rule" IS 'CTP001 ...';

COMMENT ON COLUMN "findings"."title" IS 'of the rule';

COMMENT ON COLUMN "findings"."verdict" IS 'proven, likely, suspect or inconclusive';

COMMENT ON COLUMN "findings"."fingerprint" IS '16 hexadecimal digits of rule and functions: the same in other runs and builds';

COMMENT ON COLUMN "findings"."coroutines" IS 'rows of finding_coroutines';

COMMENT ON COLUMN "findings"."message" IS 'one sentence';

COMMENT ON COLUMN "findings"."host" IS 'as in traces; empty: not known';

COMMENT ON COLUMN "findings"."started_ns" IS 'as in traces; 0: not known';

COMMENT ON COLUMN "findings"."build_id" IS 'as in traces; empty: not known';

COMMENT ON COLUMN "findings"."pid" IS 'of the process';

COMMENT ON COLUMN "findings"."fd" IS 'the descriptor that it is about';

COMMENT ON COLUMN "findings"."fd_gen" IS 'generation of that number';

COMMENT ON COLUMN "findings"."fd_kind" IS 'as in descriptors';

COMMENT ON COLUMN "findings"."fd_name" IS 'addresses or path';

COMMENT ON COLUMN "findings"."site" IS 'function where the first coroutine waits, or did it';

COMMENT ON COLUMN "findings"."file" IS 'source file of site';

COMMENT ON COLUMN "findings"."line" IS 'line there';

COMMENT ON COLUMN "findings"."closer" IS 'coroutines.id of the closer, or of the one at fault';

COMMENT ON COLUMN "findings"."closer_site" IS 'function where that happened: the place to change';

COMMENT ON COLUMN "findings"."closer_file" IS 'source file of closer_site';

COMMENT ON COLUMN "findings"."closer_line" IS 'line there';

COMMENT ON COLUMN "findings"."waiter_stack" IS 'stacks.id';

COMMENT ON COLUMN "findings"."closer_stack" IS 'stacks.id';

COMMENT ON COLUMN "findings"."creator_stack" IS 'stacks.id';

COMMENT ON COLUMN "findings"."opener_stack" IS 'stacks.id';

COMMENT ON COLUMN "findings"."closure" IS 'unreachable or quiet: by what it is proven';

COMMENT ON COLUMN "findings"."refuted_if" IS 'what would show that it is not so';

COMMENT ON COLUMN "findings"."fix" IS 'what to do';

COMMENT ON COLUMN "findings"."known" IS 'it stands in the --baseline';

COMMENT ON TABLE "findings" IS 'what is wrong, by place';

CREATE TABLE IF NOT EXISTS "finding_coroutines" (
  "trace" bigint NOT NULL,
  "finding" bigint NOT NULL,
  "nth" bigint NOT NULL,
  "coroutine" bigint NOT NULL,
  "suspended_ns" bigint NOT NULL,
  "changes" bigint NOT NULL,
  PRIMARY KEY ("trace", "finding", "nth")
);

COMMENT ON COLUMN "finding_coroutines"."trace" IS 'traces.id';

COMMENT ON COLUMN "finding_coroutines"."finding" IS 'findings.id';

COMMENT ON COLUMN "finding_coroutines"."nth" IS '1 is the one that the finding''s stacks are of';

COMMENT ON COLUMN "finding_coroutines"."coroutine" IS 'coroutines.id';

COMMENT ON COLUMN "finding_coroutines"."suspended_ns" IS 'ns up to the snapshot';

COMMENT ON COLUMN "finding_coroutines"."changes" IS 'as in coroutines';

COMMENT ON TABLE "finding_coroutines" IS 'which coroutines a finding is about';

CREATE TABLE IF NOT EXISTS "evidence" (
  "trace" bigint NOT NULL,
  "finding" bigint NOT NULL,
  "nth" bigint NOT NULL,
  "proof" text NOT NULL,
  "holds" boolean,
  "text" text,
  PRIMARY KEY ("trace", "finding", "nth")
);

COMMENT ON COLUMN "evidence"."trace" IS 'traces.id';

COMMENT ON COLUMN "evidence"."finding" IS 'findings.id';

COMMENT ON COLUMN "evidence"."nth" IS '1, 2 ...';

COMMENT ON COLUMN "evidence"."proof" IS 'P0 to P7; open: a way by which the program''s own code could still resume it';

COMMENT ON COLUMN "evidence"."holds" IS 'null: could not be decided';

COMMENT ON COLUMN "evidence"."text" IS 'what was seen';

COMMENT ON TABLE "evidence" IS 'what speaks for a finding, and what is open';

CREATE TABLE IF NOT EXISTS "timelines" (
  "trace" bigint NOT NULL,
  "finding" bigint NOT NULL,
  "nth" bigint NOT NULL,
  "t_ns" bigint NOT NULL,
  "coroutine" bigint,
  "what" text NOT NULL,
  PRIMARY KEY ("trace", "finding", "nth")
);

COMMENT ON COLUMN "timelines"."trace" IS 'traces.id';

COMMENT ON COLUMN "timelines"."finding" IS 'findings.id';

COMMENT ON COLUMN "timelines"."nth" IS '1, 2 ... in the order of time';

COMMENT ON COLUMN "timelines"."t_ns" IS 'ns from the trace''s start';

COMMENT ON COLUMN "timelines"."coroutine" IS 'coroutines.id';

COMMENT ON COLUMN "timelines"."what" IS 'what happened';

COMMENT ON TABLE "timelines" IS 'what happened before a finding';

CREATE TABLE IF NOT EXISTS "facts" (
  "trace" bigint NOT NULL,
  "nth" bigint NOT NULL,
  "rule" text NOT NULL,
  "n" bigint NOT NULL,
  "message" text NOT NULL,
  PRIMARY KEY ("trace", "nth")
);

COMMENT ON COLUMN "facts"."trace" IS 'traces.id';

COMMENT ON COLUMN "facts"."nth" IS '1, 2 ...';

COMMENT ON COLUMN "facts"."rule" IS 'CTPnnn, or INFO';

COMMENT ON COLUMN "facts"."n" IS 'how often';

COMMENT ON COLUMN "facts"."message" IS 'one sentence';

COMMENT ON TABLE "facts" IS 'what is merely so';

CREATE TABLE IF NOT EXISTS "traces" (
  "id" bigint NOT NULL,
  "uuid" text NOT NULL,
  "part" bigint NOT NULL,
  "form" text NOT NULL,
  "host" text,
  "boot_id" text,
  "exe" text,
  "command" text,
  "build_id" text,
  "ctp" text,
  "labels" text NOT NULL,
  "pid" bigint,
  "started_ns" bigint,
  "ended_ns" bigint,
  "duration_ns" bigint NOT NULL,
  "events" bigint NOT NULL,
  "switches" bigint NOT NULL,
  "lost" bigint NOT NULL,
  "threads" bigint NOT NULL,
  "coroutines" bigint NOT NULL,
  "created" bigint,
  "suspended" bigint NOT NULL,
  "running" bigint NOT NULL,
  "finished" bigint NOT NULL,
  "destroyed" bigint,
  "in_findings" bigint NOT NULL,
  "healthy" bigint NOT NULL,
  "parked" bigint NOT NULL,
  "pooled" bigint NOT NULL,
  "undecided" bigint NOT NULL,
  "healthy_waiters" bigint NOT NULL,
  "findings" bigint NOT NULL,
  "complete" boolean NOT NULL,
  "coverage" text NOT NULL,
  "tables" text NOT NULL,
  "analyzed_by" text NOT NULL,
  "loaded_ns" bigint NOT NULL,
  PRIMARY KEY ("id"),
  UNIQUE ("uuid", "part")
);

COMMENT ON COLUMN "traces"."id" IS 'of this trace in this database: days from 1970-01-01 to its start * 2^38, plus a number by chance';

COMMENT ON COLUMN "traces"."uuid" IS 'of the run, as the trace carries it';

COMMENT ON COLUMN "traces"."part" IS 'which snapshot of a --flight run; 0: the trace itself';

COMMENT ON COLUMN "traces"."form" IS 'directory, lines (JSON lines) or core';

COMMENT ON COLUMN "traces"."host" IS 'on which it ran';

COMMENT ON COLUMN "traces"."boot_id" IS 'of that host, /proc/sys/kernel/random/boot_id';

COMMENT ON COLUMN "traces"."exe" IS 'the program''s file';

COMMENT ON COLUMN "traces"."command" IS 'argv[0]; all words with --record-args';

COMMENT ON COLUMN "traces"."build_id" IS 'the program''s GNU build id, hexadecimal';

COMMENT ON COLUMN "traces"."ctp" IS 'the version that recorded it';

COMMENT ON COLUMN "traces"."labels" IS 'a JSON object of strings: the trace''s own, and those of --label';

COMMENT ON COLUMN "traces"."pid" IS 'of the first process';

COMMENT ON COLUMN "traces"."started_ns" IS 'ns since 1970-01-01 UTC; a time t_ns of this trace is started_ns + t_ns';

COMMENT ON COLUMN "traces"."ended_ns" IS 'ns since 1970-01-01 UTC, at the last snapshot';

COMMENT ON COLUMN "traces"."duration_ns" IS 'ns from attach to the last snapshot';

COMMENT ON COLUMN "traces"."events" IS 'records of every kind in the trace';

COMMENT ON COLUMN "traces"."switches" IS 'control passing from one coroutine or native stack to another';

COMMENT ON COLUMN "traces"."lost" IS 'records dropped, of all threads';

COMMENT ON COLUMN "traces"."threads" IS 'threads that made a record';

COMMENT ON COLUMN "traces"."coroutines" IS 'created + suspended + running + finished + destroyed';

COMMENT ON COLUMN "traces"."created" IS 'coroutines that never ran';

COMMENT ON COLUMN "traces"."suspended" IS 'coroutines that saved themselves and left';

COMMENT ON COLUMN "traces"."running" IS 'coroutines';

COMMENT ON COLUMN "traces"."finished" IS 'coroutines that returned or left for good';

COMMENT ON COLUMN "traces"."destroyed" IS 'coroutines whose stack was released while they were suspended';

COMMENT ON COLUMN "traces"."in_findings" IS 'suspended coroutines in findings about their wait';

COMMENT ON COLUMN "traces"."healthy" IS 'suspended coroutines that wait for what can come';

COMMENT ON COLUMN "traces"."parked" IS 'suspended coroutines without a known wait';

COMMENT ON COLUMN "traces"."pooled" IS 'suspended coroutines that wait in a pool';

COMMENT ON COLUMN "traces"."undecided" IS 'suspended coroutines of which nothing of that can be told';

COMMENT ON COLUMN "traces"."healthy_waiters" IS 'as in the report';

COMMENT ON COLUMN "traces"."findings" IS 'rows of findings';

COMMENT ON COLUMN "traces"."complete" IS 'the last tables are there, so that verdicts could be given';

COMMENT ON COLUMN "traces"."coverage" IS 'what was not seen or kept: sentences, one a line';

COMMENT ON COLUMN "traces"."tables" IS 'which tables were exported, with commas between';

COMMENT ON COLUMN "traces"."analyzed_by" IS 'the version of ctp-analyze that exported it';

COMMENT ON COLUMN "traces"."loaded_ns" IS 'ns since 1970-01-01 UTC, when it was exported';

COMMENT ON TABLE "traces" IS 'one row a trace, written last: a trace counts once its row is there';

CREATE VIEW findings_by_fingerprint AS
SELECT f.fingerprint, f.rule, f.verdict, count(*) AS traces, count(DISTINCT f.host) AS hosts,
       sum(f.coroutines) AS coroutines, min(f.started_ns) AS first_seen_ns, max(f.started_ns) AS last_seen_ns,
       min(f.site) AS site, min(f.closer_site) AS closer_site
FROM findings f JOIN traces t ON t.id = f.trace
GROUP BY f.fingerprint, f.rule, f.verdict;

CREATE VIEW findings_by_site AS
SELECT f.rule, f.verdict, coalesce(f.closer_site, f.site) AS site, coalesce(f.closer_file, f.file) AS file,
       coalesce(f.closer_line, f.line) AS line, f.site AS waits_in, count(*) AS traces,
       sum(f.coroutines) AS coroutines
FROM findings f JOIN traces t ON t.id = f.trace
GROUP BY f.rule, f.verdict, coalesce(f.closer_site, f.site), coalesce(f.closer_file, f.file),
         coalesce(f.closer_line, f.line), f.site;

CREATE VIEW lost_coroutines AS
SELECT f.trace, f.id AS finding, f.rule, f.verdict, c.coroutine, c.suspended_ns, f.site, f.fd, f.fd_gen, f.fd_name
FROM finding_coroutines c JOIN findings f ON f.trace = c.trace AND f.id = c.finding
     JOIN traces t ON t.id = c.trace;

CREATE VIEW waits_by_site AS
SELECT s.site, s.file, s.line, sum(s.n) AS waits, sum(s.sum_ns) AS total_ns, max(s.max_ns) AS longest_ns
FROM sites s JOIN traces t ON t.id = s.trace WHERE s.measure = 'wait'
GROUP BY s.site, s.file, s.line;

CREATE VIEW latency_by_site AS
SELECT s.site, s.file, s.line, sum(s.n) AS events, sum(s.sum_ns) AS total_ns, max(s.max_ns) AS longest_ns
FROM sites s JOIN traces t ON t.id = s.trace WHERE s.measure = 'latency'
GROUP BY s.site, s.file, s.line;

CREATE VIEW slices_by_site AS
SELECT s.site, s.file, s.line, sum(s.n) AS slices, sum(s.sum_ns) AS total_ns, max(s.max_ns) AS longest_ns
FROM sites s JOIN traces t ON t.id = s.trace WHERE s.measure = 'slice'
GROUP BY s.site, s.file, s.line;

CREATE VIEW quantiles_by_site AS
SELECT c.site, c.measure, max(c.total) AS n, min(CASE WHEN c.upto * 2 >= c.total THEN c.le_ns END) AS half_ns,
       min(CASE WHEN c.upto * 100 >= c.total * 99 THEN c.le_ns END) AS p99_ns
FROM (SELECT b.site, b.measure, b.le_ns, sum(b.n) OVER (PARTITION BY b.site, b.measure ORDER BY b.le_ns) AS upto,
             sum(b.n) OVER (PARTITION BY b.site, b.measure) AS total
      FROM (SELECT h.site, h.measure, h.le_ns, sum(h.n) AS n
            FROM histograms h JOIN traces t ON t.id = h.trace WHERE h.site IS NOT NULL
            GROUP BY h.site, h.measure, h.le_ns) b) c
GROUP BY c.site, c.measure;

CREATE VIEW slowest_coroutines AS
SELECT c.trace, c.id, c.name, c.entry, c.state, c.longest_wait_ns, c.longest_slice_ns, c.waited_ns, c.ran_ns, c.site
FROM coroutines c JOIN traces t ON t.id = c.trace WHERE c.kind = 'coroutine';

CREATE VIEW waiting_by_site AS
SELECT c.site, c.file, c.line, c.account, count(*) AS coroutines, max(c.suspended_ns) AS longest_ns
FROM coroutines c JOIN traces t ON t.id = c.trace WHERE c.kind = 'coroutine' AND c.state = 'suspended'
GROUP BY c.site, c.file, c.line, c.account;

CREATE VIEW coroutines_by_creator AS
SELECT c.creator_site, c.entry, count(*) AS made,
       sum(CASE WHEN c.state IN ('finished', 'destroyed') THEN 1 ELSE 0 END) AS ended,
       sum(CASE WHEN c.state IN ('finished', 'destroyed') THEN 0 ELSE 1 END) AS left_over
FROM coroutines c JOIN traces t ON t.id = c.trace WHERE c.kind = 'coroutine'
GROUP BY c.creator_site, c.entry;

CREATE VIEW open_evidence AS
SELECT f.trace, f.id AS finding, f.rule, f.verdict, e.proof, e.holds, e.text
FROM evidence e JOIN findings f ON f.trace = e.trace AND f.id = e.finding JOIN traces t ON t.id = e.trace
WHERE e.holds IS NULL OR NOT e.holds;

CREATE VIEW trace_coverage AS
SELECT t.id, t.host, t.build_id, t.lost, t.complete, t.undecided, t.coverage FROM traces t
WHERE t.lost > 0 OR NOT t.complete OR t.undecided > 0;
