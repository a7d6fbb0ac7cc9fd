-- SPDX-License-Identifier: MIT
-- What does the newest build of each program find that no older one did?
SELECT fingerprint, any(rule) AS of_rule, any(coalesce(closer_site, site)) AS at, any(build_id) AS newest_build,
       uniqExact(host) AS hosts, count() AS traces, sum(coroutines) AS members,
       toDateTime(intDiv(min(started_ns), 1000000000), 'UTC') AS first_seen
FROM findings
WHERE trace IN (SELECT id FROM traces ORDER BY loaded_ns DESC LIMIT 1 BY uuid, part)
GROUP BY fingerprint
HAVING countIf(build_id NOT IN ('')) = count() AND uniqExact(build_id) = 1 AND newest_build GLOBAL IN
  (SELECT newest FROM (SELECT exe, argMax(build_id, first_ns) AS newest
     FROM (SELECT exe, build_id, min(started_ns) AS first_ns FROM traces WHERE build_id IS NOT NULL GROUP BY exe, build_id)
     GROUP BY exe))
ORDER BY hosts DESC, members DESC, fingerprint
