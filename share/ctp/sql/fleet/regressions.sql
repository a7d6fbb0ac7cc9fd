-- SPDX-License-Identifier: MIT
-- Where did waiting for events, or running without leaving, take half again as long with the newest build (1,000 samples and more)?
SELECT of_measure AS measure, at AS site, round(new_p99 / 1000000, 3) AS newest_p99_ms,
       round(old_p99 / 1000000, 3) AS older_p99_ms, new_n AS newest_samples, old_n AS older_samples
FROM (SELECT measure AS of_measure, site AS at, sumIf(weight, is_new) AS new_n, sumIf(weight, NOT is_new) AS old_n,
             quantileExactWeightedIf(0.99)(le_ns, weight, is_new) AS new_p99,
             quantileExactWeightedIf(0.99)(le_ns, weight, NOT is_new) AS old_p99
      FROM (SELECT measure, site, le_ns, toUInt64(n) AS weight,
                   build_id GLOBAL IN (SELECT newest FROM (SELECT exe, argMax(build_id, first_ns) AS newest
                     FROM (SELECT exe, build_id, min(started_ns) AS first_ns FROM traces WHERE build_id IS NOT NULL
                           GROUP BY exe, build_id) GROUP BY exe)) AS is_new
            FROM (SELECT trace, measure, site, le_ns, n FROM histograms WHERE measure IN ('latency', 'slice') AND site IS NOT NULL)
            ANY INNER JOIN (SELECT id AS trace, build_id FROM traces ORDER BY loaded_ns DESC LIMIT 1 BY uuid, part)
            USING trace)
      GROUP BY measure, site)
WHERE new_n >= 1000 AND old_n >= 1000 AND new_p99 >= old_p99 * 1.5
ORDER BY new_p99 / old_p99 DESC, measure, site
