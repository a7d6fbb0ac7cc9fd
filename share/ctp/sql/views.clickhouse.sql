-- SPDX-License-Identifier: MIT
-- The views of views.sql, in ClickHouse's words (18.16 and later). A trace that was exported twice at once
-- counts once: by the newest of its rows in traces.

CREATE VIEW findings_by_fingerprint AS
SELECT fingerprint, rule, verdict, count() AS traces, uniqExact(host) AS hosts, sum(coroutines) AS coroutines,
       min(started_ns) AS first_seen_ns, max(started_ns) AS last_seen_ns, min(site) AS site,
       min(closer_site) AS closer_site
FROM (SELECT fingerprint, rule, verdict, host, coroutines, started_ns, site, closer_site FROM findings
      WHERE trace IN (SELECT id FROM traces ORDER BY loaded_ns DESC LIMIT 1 BY uuid, part))
GROUP BY fingerprint, rule, verdict;

CREATE VIEW findings_by_site AS
SELECT rule, verdict, at_site AS site, at_file AS file, at_line AS line, waits_in, count() AS traces,
       sum(members) AS coroutines
FROM (SELECT rule, verdict, coalesce(closer_site, site) AS at_site, coalesce(closer_file, file) AS at_file,
             coalesce(closer_line, line) AS at_line, site AS waits_in, coroutines AS members
      FROM findings WHERE trace IN (SELECT id FROM traces ORDER BY loaded_ns DESC LIMIT 1 BY uuid, part))
GROUP BY rule, verdict, at_site, at_file, at_line, waits_in;

CREATE VIEW lost_coroutines AS
SELECT trace, finding, rule, verdict, coroutine, suspended_ns, site, fd, fd_gen, fd_name
FROM (SELECT trace, finding, coroutine, suspended_ns FROM finding_coroutines
      WHERE trace IN (SELECT id FROM traces ORDER BY loaded_ns DESC LIMIT 1 BY uuid, part))
ALL INNER JOIN (SELECT trace, id AS finding, rule, verdict, site, fd, fd_gen, fd_name FROM findings)
USING trace, finding;

CREATE VIEW waits_by_site AS
SELECT site, file, line, sum(n) AS waits, sum(sum_ns) AS total_ns, max(max_ns) AS longest_ns
FROM sites
WHERE measure = 'wait' AND trace IN (SELECT id FROM traces ORDER BY loaded_ns DESC LIMIT 1 BY uuid, part)
GROUP BY site, file, line;

CREATE VIEW latency_by_site AS
SELECT site, file, line, sum(n) AS events, sum(sum_ns) AS total_ns, max(max_ns) AS longest_ns
FROM sites
WHERE measure = 'latency' AND trace IN (SELECT id FROM traces ORDER BY loaded_ns DESC LIMIT 1 BY uuid, part)
GROUP BY site, file, line;

CREATE VIEW slices_by_site AS
SELECT site, file, line, sum(n) AS slices, sum(sum_ns) AS total_ns, max(max_ns) AS longest_ns
FROM sites
WHERE measure = 'slice' AND trace IN (SELECT id FROM traces ORDER BY loaded_ns DESC LIMIT 1 BY uuid, part)
GROUP BY site, file, line;

CREATE VIEW quantiles_by_site AS
SELECT site, measure, sum(weight) AS n, quantileExactWeighted(0.5)(le_ns, weight) AS half_ns,
       quantileExactWeighted(0.99)(le_ns, weight) AS p99_ns
FROM (SELECT site, measure, le_ns, toUInt64(n) AS weight FROM histograms
      WHERE site IS NOT NULL AND trace IN (SELECT id FROM traces ORDER BY loaded_ns DESC LIMIT 1 BY uuid, part))
GROUP BY site, measure;

CREATE VIEW slowest_coroutines AS
SELECT trace, id, name, entry, state, longest_wait_ns, longest_slice_ns, waited_ns, ran_ns, site
FROM coroutines
WHERE kind = 'coroutine' AND trace IN (SELECT id FROM traces ORDER BY loaded_ns DESC LIMIT 1 BY uuid, part);

CREATE VIEW waiting_by_site AS
SELECT site, file, line, account, count() AS coroutines, max(suspended_ns) AS longest_ns
FROM (SELECT site, file, line, account, suspended_ns FROM coroutines
      WHERE kind = 'coroutine' AND state = 'suspended'
        AND trace IN (SELECT id FROM traces ORDER BY loaded_ns DESC LIMIT 1 BY uuid, part))
GROUP BY site, file, line, account;

CREATE VIEW coroutines_by_creator AS
SELECT creator_site, entry, count() AS made, sum(state IN ('finished', 'destroyed')) AS ended,
       sum(state NOT IN ('finished', 'destroyed')) AS left_over
FROM coroutines
WHERE kind = 'coroutine' AND trace IN (SELECT id FROM traces ORDER BY loaded_ns DESC LIMIT 1 BY uuid, part)
GROUP BY creator_site, entry;

CREATE VIEW open_evidence AS
SELECT trace, finding, rule, verdict, proof, holds, text
FROM (SELECT trace, finding, proof, holds, text FROM evidence
      WHERE (holds IS NULL OR holds = 0)
        AND trace IN (SELECT id FROM traces ORDER BY loaded_ns DESC LIMIT 1 BY uuid, part))
ALL INNER JOIN (SELECT trace, id AS finding, rule, verdict FROM findings) USING trace, finding;

CREATE VIEW trace_coverage AS
SELECT id, host, build_id, lost, complete, undecided, coverage
FROM (SELECT id, host, build_id, lost, complete, undecided, coverage FROM traces ORDER BY loaded_ns DESC LIMIT 1 BY uuid, part)
WHERE lost > 0 OR complete = 0 OR undecided > 0;
