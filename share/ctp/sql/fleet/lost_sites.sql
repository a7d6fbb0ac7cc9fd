-- SPDX-License-Identifier: MIT
-- Which sites lose wakeups, on how many hosts, first seen with which build?
SELECT rule, coalesce(closer_site, site) AS at, any(coalesce(closer_file, file)) AS source_file,
       any(coalesce(closer_line, line)) AS source_line, fingerprint, uniqExact(host) AS hosts, count() AS traces,
       sum(coroutines) AS lost, toDateTime(intDiv(min(started_ns), 1000000000), 'UTC') AS first_seen,
       argMin(build_id, started_ns) AS first_build,
       toDateTime(intDiv(max(started_ns), 1000000000), 'UTC') AS last_seen
FROM findings
WHERE verdict IN ('proven', 'likely') AND rule BETWEEN 'CTP001' AND 'CTP009'
  AND trace IN (SELECT id FROM traces ORDER BY loaded_ns DESC LIMIT 1 BY uuid, part)
GROUP BY rule, at, fingerprint
ORDER BY hosts DESC, lost DESC, fingerprint
