-- From when on each job is defined; of those that are there, from when on they are planned.
ALTER TABLE mainspring.job ADD COLUMN since int8 NOT NULL DEFAULT 0;
UPDATE mainspring.job SET since = watermark;

-- Jobs with their last run that is over.
DROP VIEW IF EXISTS mainspring.job_list;
CREATE VIEW mainspring.job_list AS SELECT j.*, l.* FROM mainspring.job AS j LEFT JOIN LATERAL (
    SELECT r.nominal, r.series, r.state, coalesce(r.ended, r.planned) FROM mainspring.history AS r
    WHERE r.job = j.name ORDER BY r.job DESC, r.nominal DESC, r.series DESC LIMIT 1
) AS l (last_nominal, last_series, last_state, last_ended) ON true;
