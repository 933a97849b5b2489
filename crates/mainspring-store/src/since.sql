-- From when on each job is defined; of those that are there, from when on they are planned.
ALTER TABLE job ADD COLUMN since INTEGER NOT NULL DEFAULT 0;
UPDATE job SET since = watermark;
