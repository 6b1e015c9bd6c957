CREATE INDEX CONCURRENTLY IF NOT EXISTS "agents_beat" ON "agents" USING btree ("next_heartbeat_at") WHERE "agents"."next_heartbeat_at" is not null and "agents"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "issues_self_checkout" ON "issues" USING btree ("self_checkout_agent_id") WHERE "issues"."self_checkout_agent_id" is not null;--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "agents_next_heartbeat";--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "issues_checked_out";
