CREATE INDEX CONCURRENTLY IF NOT EXISTS "heartbeat_runs_front" ON "heartbeat_runs" USING btree ("created_at","id") WHERE "heartbeat_runs"."status" = 'queued';--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "heartbeat_runs_running_agent" ON "heartbeat_runs" USING btree ("company_id","agent_id") WHERE "heartbeat_runs"."status" = 'running';--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "heartbeat_runs_live_of_agent" ON "heartbeat_runs" USING btree ("agent_id","created_at","id") WHERE "heartbeat_runs"."status" in ('queued', 'running');--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "heartbeat_runs_running";--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "heartbeat_runs_live_agent";
