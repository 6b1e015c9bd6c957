DROP INDEX "heartbeat_runs_live_issue";--> statement-breakpoint
ALTER TABLE "heartbeat_runs" ADD COLUMN "kind" text DEFAULT 'heartbeat' NOT NULL;--> statement-breakpoint
ALTER TABLE "heartbeat_runs" ADD COLUMN "subject_type" text;--> statement-breakpoint
ALTER TABLE "heartbeat_runs" ADD COLUMN "subject_id" uuid;--> statement-breakpoint
ALTER TABLE "heartbeat_runs" ADD COLUMN "live_key" text;--> statement-breakpoint
ALTER TABLE "heartbeat_runs" ADD COLUMN "payload" jsonb DEFAULT '{}'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "heartbeat_runs" ADD COLUMN "handed_over_at" timestamp (3) with time zone;--> statement-breakpoint
UPDATE "heartbeat_runs" SET "subject_type" = 'issue', "subject_id" = "issue_id", "live_key" = 'issue:' || "issue_id"
WHERE "issue_id" is not null;--> statement-breakpoint
UPDATE "heartbeat_runs" SET "handed_over_at" = now() WHERE "status" = 'running' and "lease_expires_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "heartbeat_runs_live_key" ON "heartbeat_runs" USING btree ("live_key") WHERE "heartbeat_runs"."live_key" is not null and "heartbeat_runs"."status" in ('queued', 'running');--> statement-breakpoint
CREATE INDEX "heartbeat_runs_live_issue" ON "heartbeat_runs" USING btree ("issue_id") WHERE "heartbeat_runs"."issue_id" is not null and "heartbeat_runs"."status" in ('queued', 'running');--> statement-breakpoint
ALTER TABLE "heartbeat_runs" DROP COLUMN "held_before";