CREATE TABLE "council_participants" (
	"session_id" uuid NOT NULL,
	"company_id" uuid NOT NULL,
	"agent_id" uuid NOT NULL,
	"place" integer NOT NULL,
	"name" text NOT NULL,
	"role" text NOT NULL,
	"left_out_reason" text,
	CONSTRAINT "council_participants_session_id_agent_id_pk" PRIMARY KEY("session_id","agent_id")
);
--> statement-breakpoint
CREATE TABLE "council_sessions" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid NOT NULL,
	"issue_id" uuid NOT NULL,
	"question" text NOT NULL,
	"status" text DEFAULT 'running' NOT NULL,
	"rounds" integer NOT NULL,
	"phase" text DEFAULT 'answer' NOT NULL,
	"round" integer DEFAULT 1 NOT NULL,
	"depth" integer NOT NULL,
	"conclusion" text,
	"error" text,
	"convened_by_agent_id" uuid,
	"convened_by_user_id" uuid,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"finished_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "council_turns" (
	"session_id" uuid NOT NULL,
	"company_id" uuid NOT NULL,
	"agent_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"round" integer NOT NULL,
	"run_id" uuid NOT NULL,
	"status" text DEFAULT 'planned' NOT NULL,
	"body_markdown" text,
	"is_revised" boolean DEFAULT true NOT NULL,
	"ranking" uuid[],
	"error" text,
	"finished_at" timestamp (3) with time zone,
	CONSTRAINT "council_turns_session_id_agent_id_kind_round_pk" PRIMARY KEY("session_id","agent_id","kind","round")
);
--> statement-breakpoint
ALTER TABLE "council_participants" ADD CONSTRAINT "council_participants_session_id_council_sessions_id_fk" FOREIGN KEY ("session_id") REFERENCES "public"."council_sessions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "council_sessions" ADD CONSTRAINT "council_sessions_issue_id_issues_id_fk" FOREIGN KEY ("issue_id") REFERENCES "public"."issues"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "council_turns" ADD CONSTRAINT "council_turns_session_id_council_sessions_id_fk" FOREIGN KEY ("session_id") REFERENCES "public"."council_sessions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "council_sessions_running" ON "council_sessions" USING btree ("issue_id") WHERE "council_sessions"."status" = 'running';--> statement-breakpoint
CREATE INDEX "council_sessions_issue" ON "council_sessions" USING btree ("issue_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "council_sessions_company_running" ON "council_sessions" USING btree ("company_id") WHERE "council_sessions"."status" = 'running';--> statement-breakpoint
CREATE UNIQUE INDEX "council_turns_run" ON "council_turns" USING btree ("run_id");