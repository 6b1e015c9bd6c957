CREATE TABLE "workers" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"name" text NOT NULL,
	"tags" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"status" text NOT NULL,
	"key_hash" text NOT NULL,
	"key_prefix" text NOT NULL,
	"version" text,
	"commit" text,
	"build_date" text,
	"prompt_version" text,
	"shared_models" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"online" boolean DEFAULT false NOT NULL,
	"last_seen_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "workers_key_hash" UNIQUE("key_hash")
);
--> statement-breakpoint
DROP INDEX "remote_tasks_queued";--> statement-breakpoint
ALTER TABLE "remote_tasks" ADD COLUMN "model_providers" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "remote_tasks" ADD COLUMN "model" text;--> statement-breakpoint
ALTER TABLE "remote_tasks" ADD COLUMN "route" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "remote_tasks" ADD COLUMN "timeout_sec" integer DEFAULT 600 NOT NULL;--> statement-breakpoint
ALTER TABLE "remote_tasks" ADD COLUMN "missing_since" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "remote_tasks" ADD COLUMN "attempts" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "remote_tasks" ADD COLUMN "transcript_bytes" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
-- Tasks of runs that are long forgotten would violate the new reference.
DELETE FROM "remote_tasks" t WHERE NOT EXISTS (SELECT FROM "heartbeat_runs" r WHERE r.id = t.heartbeat_run_id);--> statement-breakpoint
-- No worker could be registered so far: whatever these columns hold names none.
UPDATE "remote_tasks" SET "worker_id" = NULL WHERE "worker_id" IS NOT NULL;--> statement-breakpoint
UPDATE "remote_tasks" SET "route" = md5(jsonb_build_array(company_id, tags_required, '[]'::jsonb, null)::text) WHERE "status" = 'queued';--> statement-breakpoint
CREATE INDEX "workers_created_at" ON "workers" USING btree ("created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
ALTER TABLE "remote_tasks" ADD CONSTRAINT "remote_tasks_heartbeat_run_id_heartbeat_runs_id_fk" FOREIGN KEY ("heartbeat_run_id") REFERENCES "public"."heartbeat_runs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "remote_tasks" ADD CONSTRAINT "remote_tasks_worker_id_workers_id_fk" FOREIGN KEY ("worker_id") REFERENCES "public"."workers"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "remote_tasks_route" ON "remote_tasks" USING btree ("route","created_at","id") WHERE "remote_tasks"."status" = 'queued';--> statement-breakpoint
CREATE INDEX "remote_tasks_worker" ON "remote_tasks" USING btree ("worker_id","status") WHERE "remote_tasks"."worker_id" is not null;--> statement-breakpoint
CREATE INDEX "remote_tasks_missing" ON "remote_tasks" USING btree ("missing_since") WHERE "remote_tasks"."missing_since" is not null;--> statement-breakpoint
CREATE INDEX "remote_tasks_completed_at" ON "remote_tasks" USING btree ("completed_at") WHERE "remote_tasks"."completed_at" is not null;