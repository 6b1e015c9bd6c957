CREATE TABLE "subagent_waits" (
	"issue_id" uuid PRIMARY KEY NOT NULL,
	"company_id" uuid NOT NULL,
	"root_agent_id" uuid NOT NULL,
	"agent_id" uuid NOT NULL,
	"recursive" boolean NOT NULL,
	"depth" integer NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "subagents" (
	"agent_id" uuid PRIMARY KEY NOT NULL,
	"company_id" uuid NOT NULL,
	"root_agent_id" uuid NOT NULL,
	"parent_agent_id" uuid NOT NULL,
	"parent_issue_id" uuid NOT NULL,
	"issue_id" uuid NOT NULL,
	"outcome" text,
	"result" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "agents" ADD COLUMN "ancestor_ids" uuid[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "agents" ADD COLUMN "paused_with_parent" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "cost_events" ADD COLUMN "rolled_up_to" uuid[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "subagent_waits" ADD CONSTRAINT "subagent_waits_issue_id_issues_id_fk" FOREIGN KEY ("issue_id") REFERENCES "public"."issues"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subagent_waits" ADD CONSTRAINT "subagent_waits_agent_id_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."agents"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subagents" ADD CONSTRAINT "subagents_agent_id_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."agents"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "subagent_waits_root" ON "subagent_waits" USING btree ("root_agent_id");--> statement-breakpoint
CREATE INDEX "subagent_waits_agent" ON "subagent_waits" USING btree ("agent_id");--> statement-breakpoint
CREATE UNIQUE INDEX "subagents_issue" ON "subagents" USING btree ("issue_id");--> statement-breakpoint
CREATE INDEX "subagents_parent_issue" ON "subagents" USING btree ("parent_issue_id");--> statement-breakpoint
CREATE INDEX "subagents_parent" ON "subagents" USING btree ("parent_agent_id","created_at");--> statement-breakpoint
CREATE INDEX "subagents_root" ON "subagents" USING btree ("root_agent_id");--> statement-breakpoint
CREATE INDEX "subagents_living" ON "subagents" USING btree ("root_agent_id") WHERE "subagents"."ended_at" is null;--> statement-breakpoint
CREATE INDEX "subagents_ended" ON "subagents" USING btree ("ended_at") WHERE "subagents"."ended_at" is not null;--> statement-breakpoint
CREATE INDEX "agents_parent" ON "agents" USING btree ("parent_agent_id") WHERE "agents"."parent_agent_id" is not null;