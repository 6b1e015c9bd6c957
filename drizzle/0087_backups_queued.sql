CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "backups_queued" ON "backups" USING btree ("status") WHERE status = 'queued';
