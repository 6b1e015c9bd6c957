CREATE TABLE "evolution_candidates" (
	"evolution_id" uuid NOT NULL,
	"number" integer NOT NULL,
	"parent_number" integer,
	"status" text DEFAULT 'proposed' NOT NULL,
	"minibatch" integer[] NOT NULL,
	"system_prompt" text,
	"reason" text,
	"score" double precision,
	"cost_usd" double precision,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "evolution_candidates_evolution_id_number_pk" PRIMARY KEY("evolution_id","number")
);
--> statement-breakpoint
CREATE TABLE "evolution_instances" (
	"evolution_id" uuid NOT NULL,
	"ordinal" integer NOT NULL,
	"issue_id" uuid NOT NULL,
	"split" text NOT NULL,
	"began_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "evolution_instances_evolution_id_ordinal_pk" PRIMARY KEY("evolution_id","ordinal")
);
--> statement-breakpoint
CREATE TABLE "evolution_steps" (
	"evolution_id" uuid NOT NULL,
	"candidate_number" integer NOT NULL,
	"kind" text NOT NULL,
	"ordinal" integer NOT NULL,
	"run_id" uuid NOT NULL,
	"status" text DEFAULT 'asked' NOT NULL,
	"attempts" integer DEFAULT 1 NOT NULL,
	"text" text,
	"score" double precision,
	"cost_usd" numeric(18, 8) DEFAULT '0' NOT NULL,
	"error" text,
	"error_category" text,
	"finished_at" timestamp (3) with time zone,
	CONSTRAINT "evolution_steps_evolution_id_candidate_number_kind_ordinal_pk" PRIMARY KEY("evolution_id","candidate_number","kind","ordinal")
);
--> statement-breakpoint
CREATE TABLE "prompt_evolutions" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid NOT NULL,
	"agent_id" uuid NOT NULL,
	"status" text DEFAULT 'running' NOT NULL,
	"base_version_number" integer NOT NULL,
	"version_number" integer,
	"winner_number" integer,
	"max_rollouts" integer NOT NULL,
	"max_cost_usd" numeric(18, 8) NOT NULL,
	"error" text,
	"waiting_reason" text,
	"promoted_at" timestamp (3) with time zone,
	"watch" text,
	"watch_note" text,
	"started_by_agent_id" uuid,
	"started_by_user_id" uuid,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"finished_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "prompt_versions" ADD COLUMN "parent_version_number" integer;--> statement-breakpoint
ALTER TABLE "prompt_versions" ADD COLUMN "reason" text;--> statement-breakpoint
ALTER TABLE "evolution_candidates" ADD CONSTRAINT "evolution_candidates_evolution_id_prompt_evolutions_id_fk" FOREIGN KEY ("evolution_id") REFERENCES "public"."prompt_evolutions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "evolution_instances" ADD CONSTRAINT "evolution_instances_evolution_id_prompt_evolutions_id_fk" FOREIGN KEY ("evolution_id") REFERENCES "public"."prompt_evolutions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "evolution_instances" ADD CONSTRAINT "evolution_instances_issue_id_issues_id_fk" FOREIGN KEY ("issue_id") REFERENCES "public"."issues"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "evolution_steps" ADD CONSTRAINT "evolution_steps_evolution_id_prompt_evolutions_id_fk" FOREIGN KEY ("evolution_id") REFERENCES "public"."prompt_evolutions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "prompt_evolutions" ADD CONSTRAINT "prompt_evolutions_agent_id_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."agents"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "evolution_instances_issue" ON "evolution_instances" USING btree ("issue_id");--> statement-breakpoint
CREATE UNIQUE INDEX "evolution_steps_run" ON "evolution_steps" USING btree ("run_id");--> statement-breakpoint
CREATE UNIQUE INDEX "prompt_evolutions_running" ON "prompt_evolutions" USING btree ("agent_id") WHERE "prompt_evolutions"."status" = 'running';--> statement-breakpoint
CREATE INDEX "prompt_evolutions_agent" ON "prompt_evolutions" USING btree ("agent_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "prompt_evolutions_watched" ON "prompt_evolutions" USING btree ("promoted_at") WHERE "prompt_evolutions"."watch" = 'watching';--> statement-breakpoint
CREATE INDEX "approvals_issue" ON "approvals" USING btree ("issue_id") WHERE "approvals"."issue_id" is not null;