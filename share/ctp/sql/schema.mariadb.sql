-- SPDX-License-Identifier: MIT
-- Made by scripts/sql-schema from src/analyze/export/schema.c and the views beside: spec/sql.md

CREATE TABLE IF NOT EXISTS `coroutines` (
  `trace` BIGINT NOT NULL COMMENT 'traces.id',
  `id` BIGINT NOT NULL COMMENT 'never reused within the trace',
  `kind` LONGTEXT NOT NULL COMMENT 'coroutine, or thread: a thread''s own stack, which counts as no coroutine',
  `pid` BIGINT COMMENT 'of its process',
  `name` LONGTEXT COMMENT 'that the program gave it',
  `entry` LONGTEXT COMMENT 'the function that it was made for',
  `entry_file` LONGTEXT COMMENT 'source file of that function',
  `entry_line` BIGINT COMMENT 'line there',
  `state` LONGTEXT NOT NULL COMMENT 'created, suspended, running, finished or destroyed',
  `account` LONGTEXT COMMENT 'of a suspended one: in findings, healthy, parked, pooled or undecided',
  `changes` BIGINT NOT NULL COMMENT 'times that it was suspended or resumed',
  `created_ns` BIGINT COMMENT 'ns from the trace''s start',
  `ended_ns` BIGINT COMMENT 'ns from the trace''s start; finished and destroyed ones',
  `since_ns` BIGINT COMMENT 'ns from the trace''s start of its last change',
  `suspended_ns` BIGINT COMMENT 'ns from then to the snapshot, of a suspended one',
  `creator` BIGINT COMMENT 'coroutines.id of its creator',
  `creator_site` LONGTEXT COMMENT 'function that made it',
  `creator_stack` BIGINT COMMENT 'stacks.id',
  `site` LONGTEXT COMMENT 'function where it is suspended or left last: the innermost that is no library''s',
  `file` LONGTEXT COMMENT 'source file of site',
  `line` BIGINT COMMENT 'line there',
  `stack` BIGINT COMMENT 'stacks.id of where it is suspended or left last',
  `fd` BIGINT COMMENT 'descriptor that it waits for, the first one',
  `fd_gen` BIGINT COMMENT 'generation of that number: fd 7, 3 is the third thing that was called 7',
  `ran_ns` BIGINT NOT NULL COMMENT 'ns that it ran, as far as the history tells',
  `waited_ns` BIGINT NOT NULL COMMENT 'ns that it was suspended and then resumed, as far as the history tells',
  `longest_slice_ns` BIGINT NOT NULL COMMENT 'ns of its longest run without leaving',
  `longest_wait_ns` BIGINT NOT NULL COMMENT 'ns of its longest wait that ended',
  PRIMARY KEY (`trace`, `id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='every coroutine, and each thread''s own stack';

CREATE TABLE IF NOT EXISTS `sites` (
  `trace` BIGINT NOT NULL COMMENT 'traces.id',
  `stack` BIGINT NOT NULL COMMENT 'stacks.id',
  `measure` VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'wait: suspended there, then resumed; latency: from the event until it was resumed; slice: ran, then left there',
  `site` LONGTEXT COMMENT 'the stack''s innermost function that is no library''s',
  `file` LONGTEXT COMMENT 'its source file',
  `line` BIGINT COMMENT 'line there',
  `n` BIGINT NOT NULL COMMENT 'how often',
  `sum_ns` BIGINT NOT NULL COMMENT 'ns in all',
  `max_ns` BIGINT NOT NULL COMMENT 'ns of the longest',
  PRIMARY KEY (`trace`, `stack`, `measure`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='how long coroutines waited and ran, by stack: the history added up';

CREATE TABLE IF NOT EXISTS `histograms` (
  `trace` BIGINT NOT NULL COMMENT 'traces.id',
  `stack` BIGINT NOT NULL COMMENT 'stacks.id',
  `measure` VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'as in sites',
  `le_ns` BIGINT NOT NULL COMMENT 'ns, upper bound of the bucket: powers of two and three steps between two of them',
  `site` LONGTEXT COMMENT 'as in sites',
  `n` BIGINT NOT NULL COMMENT 'how many are above the bound before and not above this one',
  PRIMARY KEY (`trace`, `stack`, `measure`, `le_ns`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='the same as histograms, from which quantiles are made';

CREATE TABLE IF NOT EXISTS `switches` (
  `trace` BIGINT NOT NULL COMMENT 'traces.id',
  `seq` BIGINT NOT NULL COMMENT '1, 2 ... in the order of the trace',
  `t_ns` BIGINT NOT NULL COMMENT 'ns from the trace''s start',
  `tid` BIGINT NOT NULL COMMENT 'thread',
  `from_id` BIGINT COMMENT 'coroutines.id of the outgoing one; null: not known',
  `from_n` BIGINT COMMENT 'which of its changes it is',
  `to_id` BIGINT COMMENT 'coroutines.id of the incoming one; null: not known',
  `to_n` BIGINT COMMENT 'which of its changes it is',
  `how` LONGTEXT NOT NULL COMMENT 'swap, set, gone, return, jump, fcontext, ontop; station: of a version-1 probe',
  `stack` BIGINT COMMENT 'stacks.id of where from_id left',
  PRIMARY KEY (`trace`, `seq`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='every switch';

CREATE TABLE IF NOT EXISTS `waits` (
  `trace` BIGINT NOT NULL COMMENT 'traces.id',
  `seq` BIGINT NOT NULL COMMENT '1, 2 ... in the order of their ends; those that did not end last',
  `coroutine` BIGINT NOT NULL COMMENT 'coroutines.id',
  `began_ns` BIGINT NOT NULL COMMENT 'ns from the trace''s start',
  `ended_ns` BIGINT COMMENT 'ns from the trace''s start; null: still suspended when the trace ended',
  `duration_ns` BIGINT COMMENT 'ns',
  `stack` BIGINT COMMENT 'stacks.id of where it was suspended',
  `fd` BIGINT COMMENT 'whose event made it ready',
  `fd_gen` BIGINT COMMENT 'generation of that number',
  `ready_ns` BIGINT COMMENT 'ns from the trace''s start, when that event was taken',
  `latency_ns` BIGINT COMMENT 'ns from the event until it was resumed',
  PRIMARY KEY (`trace`, `seq`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='every time that a coroutine was suspended';

CREATE TABLE IF NOT EXISTS `slices` (
  `trace` BIGINT NOT NULL COMMENT 'traces.id',
  `seq` BIGINT NOT NULL COMMENT '1, 2 ... in the order of their ends',
  `coroutine` BIGINT NOT NULL COMMENT 'coroutines.id',
  `tid` BIGINT NOT NULL COMMENT 'thread on which it left',
  `began_ns` BIGINT NOT NULL COMMENT 'ns from the trace''s start',
  `ended_ns` BIGINT NOT NULL COMMENT 'ns from the trace''s start',
  `duration_ns` BIGINT NOT NULL COMMENT 'ns that it ran without leaving',
  `stack` BIGINT COMMENT 'stacks.id of where it left',
  PRIMARY KEY (`trace`, `seq`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='every time that a coroutine ran';

CREATE TABLE IF NOT EXISTS `events` (
  `trace` BIGINT NOT NULL COMMENT 'traces.id',
  `seq` BIGINT NOT NULL COMMENT '1, 2 ... in the order of the trace',
  `t_ns` BIGINT NOT NULL COMMENT 'ns from the trace''s start',
  `tid` BIGINT NOT NULL COMMENT 'thread',
  `kind` LONGTEXT NOT NULL COMMENT 'create, finish, destroy, fd_open, fd_close, thread, exit, signal, ready, slept, or the number of another kind',
  `coroutine` BIGINT COMMENT 'coroutines.id of the one that it is about',
  `other` BIGINT COMMENT 'coroutines.id: of create the creator, of destroy the destroyer, of ready the one that took the event',
  `how` LONGTEXT COMMENT 'of fd_open and fd_close: the call',
  `fd` BIGINT COMMENT 'descriptor',
  `fd_gen` BIGINT COMMENT 'generation of that number',
  `value` BIGINT COMMENT 'of exit the status, of signal its number, of slept ns, of thread its tid',
  `stack` BIGINT COMMENT 'stacks.id',
  PRIMARY KEY (`trace`, `seq`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='all other records';

CREATE TABLE IF NOT EXISTS `descriptors` (
  `trace` BIGINT NOT NULL COMMENT 'traces.id',
  `pid` BIGINT COMMENT 'of the process whose number it is',
  `image` BIGINT NOT NULL COMMENT 'which program image of the trace',
  `fd` BIGINT NOT NULL COMMENT 'the number',
  `gen` BIGINT NOT NULL COMMENT 'generation of the number: 3 is the third thing that was called so',
  `kind` LONGTEXT NOT NULL COMMENT 'file, pipe, tcp, udp, unix, eventfd, timerfd, signalfd, epoll, other',
  `name` LONGTEXT COMMENT 'addresses or path, as the kernel had them at the last look',
  `state` LONGTEXT NOT NULL COMMENT 'open or closed',
  `opened_by_call` LONGTEXT COMMENT 'null: it was there before',
  `opened_ns` BIGINT COMMENT 'ns from the trace''s start',
  `opener` BIGINT COMMENT 'coroutines.id',
  `opener_stack` BIGINT COMMENT 'stacks.id',
  `closed_by_call` LONGTEXT COMMENT 'of a closed one',
  `closed_ns` BIGINT COMMENT 'ns from the trace''s start',
  `closer` BIGINT COMMENT 'coroutines.id',
  `closer_stack` BIGINT COMMENT 'stacks.id',
  `registered_in` BIGINT COMMENT 'the epoll set that it was last added to',
  PRIMARY KEY (`trace`, `image`, `fd`, `gen`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='every descriptor number that was seen, as it was last';

CREATE TABLE IF NOT EXISTS `stacks` (
  `trace` BIGINT NOT NULL COMMENT 'traces.id',
  `id` BIGINT NOT NULL COMMENT 'stack id of the image, plus the image''s number * 2^20',
  `depth` BIGINT NOT NULL COMMENT 'rows of frames',
  `site` LONGTEXT COMMENT 'innermost function that is no library''s; module+0x123 where there is no name',
  `file` LONGTEXT COMMENT 'its source file',
  `line` BIGINT COMMENT 'line there',
  `guessed` BOOLEAN NOT NULL COMMENT 'at least one frame was found by frame pointer',
  `truncated` BOOLEAN NOT NULL COMMENT 'there were more frames than are kept',
  PRIMARY KEY (`trace`, `id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='where something happened';

CREATE TABLE IF NOT EXISTS `frames` (
  `trace` BIGINT NOT NULL COMMENT 'traces.id',
  `stack` BIGINT NOT NULL COMMENT 'stacks.id',
  `level` BIGINT NOT NULL COMMENT '0 is the innermost',
  `pc` LONGTEXT NOT NULL COMMENT 'address, 0x...',
  `module` LONGTEXT COMMENT 'path of the object',
  `offset_in_module` LONGTEXT NOT NULL COMMENT 'address in the object''s file, 0x...',
  `symbol` LONGTEXT COMMENT 'function, demangled',
  `file` LONGTEXT COMMENT 'source file, as the compiler saw it',
  `line` BIGINT COMMENT 'line there',
  `inlined` BOOLEAN NOT NULL COMMENT 'it stands in the code of the next frame',
  PRIMARY KEY (`trace`, `stack`, `level`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='the functions of stacks';

CREATE TABLE IF NOT EXISTS `findings` (
  `trace` BIGINT NOT NULL COMMENT 'traces.id',
  `id` BIGINT NOT NULL COMMENT '1, 2 ... in the order of the report',
  `rule` LONGTEXT NOT NULL COMMENT 'CTP001 ...',
  `title` LONGTEXT NOT NULL COMMENT 'of the rule',
  `verdict` LONGTEXT NOT NULL COMMENT 'proven, likely, suspect or inconclusive',
  `fingerprint` LONGTEXT NOT NULL COMMENT '16 hexadecimal digits of rule and functions: the same in other runs and builds',
  `coroutines` BIGINT NOT NULL COMMENT 'rows of finding_coroutines',
  `message` LONGTEXT NOT NULL COMMENT 'one sentence',
  `host` LONGTEXT NOT NULL COMMENT 'as in traces; empty: not known',
  `started_ns` BIGINT NOT NULL COMMENT 'as in traces; 0: not known',
  `build_id` LONGTEXT NOT NULL COMMENT 'as in traces; empty: not known',
  `pid` BIGINT COMMENT 'of the process',
  `fd` BIGINT COMMENT 'the descriptor that it is about',
  `fd_gen` BIGINT COMMENT 'generation of that number',
  `fd_kind` LONGTEXT COMMENT 'as in descriptors',
  `fd_name` LONGTEXT COMMENT 'addresses or path',
  `site` LONGTEXT COMMENT 'function where the first coroutine waits, or did it',
  `file` LONGTEXT COMMENT 'source file of site',
  `line` BIGINT COMMENT 'line there',
  `closer` BIGINT COMMENT 'coroutines.id of the closer, or of the one at fault',
  `closer_site` LONGTEXT COMMENT 'function where that happened: the place to change',
  `closer_file` LONGTEXT COMMENT 'source file of closer_site',
  `closer_line` BIGINT COMMENT 'line there',
  `waiter_stack` BIGINT COMMENT 'stacks.id',
  `closer_stack` BIGINT COMMENT 'stacks.id',
  `creator_stack` BIGINT COMMENT 'stacks.id',
  `opener_stack` BIGINT COMMENT 'stacks.id',
  `closure` LONGTEXT COMMENT 'unreachable or quiet: by what it is proven',
  `refuted_if` LONGTEXT NOT NULL COMMENT 'what would show that it is not so',
  `fix` LONGTEXT COMMENT 'what to do',
  `known` BOOLEAN NOT NULL COMMENT 'it stands in the --baseline',
  PRIMARY KEY (`trace`, `id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='what is wrong, by place';

CREATE TABLE IF NOT EXISTS `finding_coroutines` (
  `trace` BIGINT NOT NULL COMMENT 'traces.id',
  `finding` BIGINT NOT NULL COMMENT 'findings.id',
  `nth` BIGINT NOT NULL COMMENT '1 is the one that the finding''s stacks are of',
  `coroutine` BIGINT NOT NULL COMMENT 'coroutines.id',
  `suspended_ns` BIGINT NOT NULL COMMENT 'ns up to the snapshot',
  `changes` BIGINT NOT NULL COMMENT 'as in coroutines',
  PRIMARY KEY (`trace`, `finding`, `nth`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='which coroutines a finding is about';

CREATE TABLE IF NOT EXISTS `evidence` (
  `trace` BIGINT NOT NULL COMMENT 'traces.id',
  `finding` BIGINT NOT NULL COMMENT 'findings.id',
  `nth` BIGINT NOT NULL COMMENT '1, 2 ...',
  `proof` LONGTEXT NOT NULL COMMENT 'P0 to P7; open: a way by which the program''s own code could still resume it',
  `holds` BOOLEAN COMMENT 'null: could not be decided',
  `text` LONGTEXT COMMENT 'what was seen',
  PRIMARY KEY (`trace`, `finding`, `nth`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='what speaks for a finding, and what is open';

CREATE TABLE IF NOT EXISTS `timelines` (
  `trace` BIGINT NOT NULL COMMENT 'traces.id',
  `finding` BIGINT NOT NULL COMMENT 'findings.id',
  `nth` BIGINT NOT NULL COMMENT '1, 2 ... in the order of time',
  `t_ns` BIGINT NOT NULL COMMENT 'ns from the trace''s start',
  `coroutine` BIGINT COMMENT 'coroutines.id',
  `what` LONGTEXT NOT NULL COMMENT 'what happened',
  PRIMARY KEY (`trace`, `finding`, `nth`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='what happened before a finding';

CREATE TABLE IF NOT EXISTS `facts` (
  `trace` BIGINT NOT NULL COMMENT 'traces.id',
  `nth` BIGINT NOT NULL COMMENT '1, 2 ...',
  `rule` LONGTEXT NOT NULL COMMENT 'CTPnnn, or INFO',
  `n` BIGINT NOT NULL COMMENT 'how often',
  `message` LONGTEXT NOT NULL COMMENT 'one sentence',
  PRIMARY KEY (`trace`, `nth`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='what is merely so';

CREATE TABLE IF NOT EXISTS `traces` (
  `id` BIGINT NOT NULL COMMENT 'of this trace in this database: days from 1970-01-01 to its start * 2^38, plus a number by chance',
  `uuid` VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'of the run, as the trace carries it',
  `part` BIGINT NOT NULL COMMENT 'which snapshot of a --flight run; 0: the trace itself',
  `form` LONGTEXT NOT NULL COMMENT 'directory, lines (JSON lines) or core',
  `host` LONGTEXT COMMENT 'on which it ran',
  `boot_id` LONGTEXT COMMENT 'of that host, /proc/sys/kernel/random/boot_id',
  `exe` LONGTEXT COMMENT 'the program''s file',
  `command` LONGTEXT COMMENT 'argv[0]; all words with --record-args',
  `build_id` LONGTEXT COMMENT 'the program''s GNU build id, hexadecimal',
  `ctp` LONGTEXT COMMENT 'the version that recorded it',
  `labels` LONGTEXT NOT NULL COMMENT 'a JSON object of strings: the trace''s own, and those of --label',
  `pid` BIGINT COMMENT 'of the first process',
  `started_ns` BIGINT COMMENT 'ns since 1970-01-01 UTC; a time t_ns of this trace is started_ns + t_ns',
  `ended_ns` BIGINT COMMENT 'ns since 1970-01-01 UTC, at the last snapshot',
  `duration_ns` BIGINT NOT NULL COMMENT 'ns from attach to the last snapshot',
  `events` BIGINT NOT NULL COMMENT 'records of every kind in the trace',
  `switches` BIGINT NOT NULL COMMENT 'control passing from one coroutine or native stack to another',
  `lost` BIGINT NOT NULL COMMENT 'records dropped, of all threads',
  `threads` BIGINT NOT NULL COMMENT 'threads that made a record',
  `coroutines` BIGINT NOT NULL COMMENT 'created + suspended + running + finished + destroyed',
  `created` BIGINT COMMENT 'coroutines that never ran',
  `suspended` BIGINT NOT NULL COMMENT 'coroutines that saved themselves and left',
  `running` BIGINT NOT NULL COMMENT 'coroutines',
  `finished` BIGINT NOT NULL COMMENT 'coroutines that returned or left for good',
  `destroyed` BIGINT COMMENT 'coroutines whose stack was released while they were suspended',
  `in_findings` BIGINT NOT NULL COMMENT 'suspended coroutines in findings about their wait',
  `healthy` BIGINT NOT NULL COMMENT 'suspended coroutines that wait for what can come',
  `parked` BIGINT NOT NULL COMMENT 'suspended coroutines without a known wait',
  `pooled` BIGINT NOT NULL COMMENT 'suspended coroutines that wait in a pool',
  `undecided` BIGINT NOT NULL COMMENT 'suspended coroutines of which nothing of that can be told',
  `healthy_waiters` BIGINT NOT NULL COMMENT 'as in the report',
  `findings` BIGINT NOT NULL COMMENT 'rows of findings',
  `complete` BOOLEAN NOT NULL COMMENT 'the last tables are there, so that verdicts could be given',
  `coverage` LONGTEXT NOT NULL COMMENT 'what was not seen or kept: sentences, one a line',
  `tables` LONGTEXT NOT NULL COMMENT 'which tables were exported, with commas between',
  `analyzed_by` LONGTEXT NOT NULL COMMENT 'the version of ctp-analyze that exported it',
  `loaded_ns` BIGINT NOT NULL COMMENT 'ns since 1970-01-01 UTC, when it was exported',
  PRIMARY KEY (`id`),
  UNIQUE (`uuid`, `part`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='one row a trace, written last: a trace counts once its row is there';

CREATE VIEW IF NOT EXISTS findings_by_fingerprint AS
SELECT f.fingerprint, f.rule, f.verdict, count(*) AS traces, count(DISTINCT f.host) AS hosts,
       sum(f.coroutines) AS coroutines, min(f.started_ns) AS first_seen_ns, max(f.started_ns) AS last_seen_ns,
       min(f.site) AS site, min(f.closer_site) AS closer_site
FROM findings f JOIN traces t ON t.id = f.trace
GROUP BY f.fingerprint, f.rule, f.verdict;

CREATE VIEW IF NOT EXISTS findings_by_site AS
SELECT f.rule, f.verdict, coalesce(f.closer_site, f.site) AS site, coalesce(f.closer_file, f.file) AS file,
       coalesce(f.closer_line, f.line) AS line, f.site AS waits_in, count(*) AS traces,
       sum(f.coroutines) AS coroutines
FROM findings f JOIN traces t ON t.id = f.trace
GROUP BY f.rule, f.verdict, coalesce(f.closer_site, f.site), coalesce(f.closer_file, f.file),
         coalesce(f.closer_line, f.line), f.site;

CREATE VIEW IF NOT EXISTS lost_coroutines AS
SELECT f.trace, f.id AS finding, f.rule, f.verdict, c.coroutine, c.suspended_ns, f.site, f.fd, f.fd_gen, f.fd_name
FROM finding_coroutines c JOIN findings f ON f.trace = c.trace AND f.id = c.finding
     JOIN traces t ON t.id = c.trace;

CREATE VIEW IF NOT EXISTS waits_by_site AS
SELECT s.site, s.file, s.line, sum(s.n) AS waits, sum(s.sum_ns) AS total_ns, max(s.max_ns) AS longest_ns
FROM sites s JOIN traces t ON t.id = s.trace WHERE s.measure = 'wait'
GROUP BY s.site, s.file, s.line;

CREATE VIEW IF NOT EXISTS latency_by_site AS
SELECT s.site, s.file, s.line, sum(s.n) AS events, sum(s.sum_ns) AS total_ns, max(s.max_ns) AS longest_ns
FROM sites s JOIN traces t ON t.id = s.trace WHERE s.measure = 'latency'
GROUP BY s.site, s.file, s.line;

CREATE VIEW IF NOT EXISTS slices_by_site AS
SELECT s.site, s.file, s.line, sum(s.n) AS slices, sum(s.sum_ns) AS total_ns, max(s.max_ns) AS longest_ns
FROM sites s JOIN traces t ON t.id = s.trace WHERE s.measure = 'slice'
GROUP BY s.site, s.file, s.line;

CREATE VIEW IF NOT EXISTS quantiles_by_site AS
SELECT c.site, c.measure, max(c.total) AS n, min(CASE WHEN c.upto * 2 >= c.total THEN c.le_ns END) AS half_ns,
       min(CASE WHEN c.upto * 100 >= c.total * 99 THEN c.le_ns END) AS p99_ns
FROM (SELECT b.site, b.measure, b.le_ns, sum(b.n) OVER (PARTITION BY b.site, b.measure ORDER BY b.le_ns) AS upto,
             sum(b.n) OVER (PARTITION BY b.site, b.measure) AS total
      FROM (SELECT h.site, h.measure, h.le_ns, sum(h.n) AS n
            FROM histograms h JOIN traces t ON t.id = h.trace WHERE h.site IS NOT NULL
            GROUP BY h.site, h.measure, h.le_ns) b) c
GROUP BY c.site, c.measure;

CREATE VIEW IF NOT EXISTS slowest_coroutines AS
SELECT c.trace, c.id, c.name, c.entry, c.state, c.longest_wait_ns, c.longest_slice_ns, c.waited_ns, c.ran_ns, c.site
FROM coroutines c JOIN traces t ON t.id = c.trace WHERE c.kind = 'coroutine';

CREATE VIEW IF NOT EXISTS waiting_by_site AS
SELECT c.site, c.file, c.line, c.account, count(*) AS coroutines, max(c.suspended_ns) AS longest_ns
FROM coroutines c JOIN traces t ON t.id = c.trace WHERE c.kind = 'coroutine' AND c.state = 'suspended'
GROUP BY c.site, c.file, c.line, c.account;

CREATE VIEW IF NOT EXISTS coroutines_by_creator AS
SELECT c.creator_site, c.entry, count(*) AS made,
       sum(CASE WHEN c.state IN ('finished', 'destroyed') THEN 1 ELSE 0 END) AS ended,
       sum(CASE WHEN c.state IN ('finished', 'destroyed') THEN 0 ELSE 1 END) AS left_over
FROM coroutines c JOIN traces t ON t.id = c.trace WHERE c.kind = 'coroutine'
GROUP BY c.creator_site, c.entry;

CREATE VIEW IF NOT EXISTS open_evidence AS
SELECT f.trace, f.id AS finding, f.rule, f.verdict, e.proof, e.holds, e.text
FROM evidence e JOIN findings f ON f.trace = e.trace AND f.id = e.finding JOIN traces t ON t.id = e.trace
WHERE e.holds IS NULL OR NOT e.holds;

CREATE VIEW IF NOT EXISTS trace_coverage AS
SELECT t.id, t.host, t.build_id, t.lost, t.complete, t.undecided, t.coverage FROM traces t
WHERE t.lost > 0 OR NOT t.complete OR t.undecided > 0;
