CREATE TABLE "backups" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"status" text NOT NULL,
	"trigger" text NOT NULL,
	"phase" text,
	"file" text,
	"bytes" bigint DEFAULT 0 NOT NULL,
	"error" text,
	"claimed_by" text NOT NULL,
	"started_at" timestamp (3) with time zone NOT NULL,
	"finished_at" timestamp (3) with time zone,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX "backups_running" ON "backups" USING btree ("status") WHERE status = 'running';--> statement-breakpoint
CREATE INDEX "backups_started_at" ON "backups" USING btree ("started_at" DESC NULLS LAST,"id" DESC NULLS LAST);