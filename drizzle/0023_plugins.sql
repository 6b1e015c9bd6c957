CREATE TABLE "plugin_binaries" (
	"plugin_id" uuid PRIMARY KEY NOT NULL,
	"storage_key" text NOT NULL,
	"sha256" text NOT NULL,
	"size_bytes" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "plugin_events" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"plugin_id" uuid NOT NULL,
	"type" text NOT NULL,
	"level" text NOT NULL,
	"message" text NOT NULL,
	"from_state" text,
	"to_state" text,
	"details" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"ordinal" bigint GENERATED ALWAYS AS IDENTITY (sequence name "plugin_events_ordinal_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1)
);
--> statement-breakpoint
CREATE TABLE "plugin_hosts" (
	"name" text PRIMARY KEY NOT NULL,
	"seen_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "plugin_job_runs" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"plugin_id" uuid NOT NULL,
	"job_name" text NOT NULL,
	"scheduled_at" timestamp (3) with time zone NOT NULL,
	"status" text DEFAULT 'running' NOT NULL,
	"result" jsonb,
	"error" text,
	"fence" bigint NOT NULL,
	"started_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"finished_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "plugin_jobs" (
	"plugin_id" uuid NOT NULL,
	"name" text NOT NULL,
	"schedule" text NOT NULL,
	"config" jsonb,
	"next_run_at" timestamp (3) with time zone,
	CONSTRAINT "plugin_jobs_plugin_id_name_pk" PRIMARY KEY("plugin_id","name")
);
--> statement-breakpoint
CREATE TABLE "plugin_kv" (
	"plugin_id" uuid NOT NULL,
	"key" text NOT NULL,
	"value" jsonb NOT NULL,
	"size_bytes" integer NOT NULL,
	"version" bigint NOT NULL,
	CONSTRAINT "plugin_kv_plugin_id_key_pk" PRIMARY KEY("plugin_id","key")
);
--> statement-breakpoint
CREATE TABLE "plugins" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid NOT NULL,
	"name" text NOT NULL,
	"slug" text NOT NULL,
	"description" text,
	"version" text,
	"binary_path" text,
	"binary_hash" text,
	"config" jsonb,
	"enabled" boolean DEFAULT true NOT NULL,
	"state" text DEFAULT 'installed' NOT NULL,
	"approval_state" text DEFAULT 'pending' NOT NULL,
	"approved_binary_hash" text,
	"host_capabilities" jsonb NOT NULL,
	"error" text,
	"sandbox" text,
	"manifest" jsonb,
	"wanted" boolean DEFAULT false NOT NULL,
	"wanted_at" timestamp (3) with time zone,
	"next_start_at" timestamp (3) with time zone,
	"held_by" text,
	"lease_until" timestamp (3) with time zone,
	"fence" bigint DEFAULT 0 NOT NULL,
	"started_at" timestamp (3) with time zone,
	"healthy" boolean,
	"checked_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "plugins_slug" UNIQUE("company_id","slug")
);
--> statement-breakpoint
ALTER TABLE "plugin_binaries" ADD CONSTRAINT "plugin_binaries_plugin_id_plugins_id_fk" FOREIGN KEY ("plugin_id") REFERENCES "public"."plugins"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "plugin_events" ADD CONSTRAINT "plugin_events_plugin_id_plugins_id_fk" FOREIGN KEY ("plugin_id") REFERENCES "public"."plugins"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "plugin_job_runs" ADD CONSTRAINT "plugin_job_runs_job" FOREIGN KEY ("plugin_id","job_name") REFERENCES "public"."plugin_jobs"("plugin_id","name") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "plugin_jobs" ADD CONSTRAINT "plugin_jobs_plugin_id_plugins_id_fk" FOREIGN KEY ("plugin_id") REFERENCES "public"."plugins"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "plugin_kv" ADD CONSTRAINT "plugin_kv_plugin_id_plugins_id_fk" FOREIGN KEY ("plugin_id") REFERENCES "public"."plugins"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "plugins" ADD CONSTRAINT "plugins_company_id_companies_id_fk" FOREIGN KEY ("company_id") REFERENCES "public"."companies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "plugin_events_plugin" ON "plugin_events" USING btree ("plugin_id","created_at" DESC NULLS LAST,"ordinal" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "plugin_events_created_at" ON "plugin_events" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "plugin_job_runs_job" ON "plugin_job_runs" USING btree ("plugin_id","job_name","started_at" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "plugins_company" ON "plugins" USING btree ("company_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "plugins_created_at" ON "plugins" USING btree ("created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "plugins_wanted" ON "plugins" USING btree ("held_by") WHERE wanted;--> statement-breakpoint
-- The copy of a binary is deleted when its row goes, or names another one.
create trigger plugin_binaries_orphan_storage_key after delete or update of storage_key on plugin_binaries
for each row execute function orphan_storage_key();
