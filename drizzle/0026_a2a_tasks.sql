CREATE TABLE "a2a_messages" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid NOT NULL,
	"issue_id" uuid NOT NULL,
	"agent_id" uuid NOT NULL,
	"message_id" text NOT NULL,
	"digest" text NOT NULL,
	"parts" jsonb NOT NULL,
	"metadata" jsonb,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "a2a_tasks" (
	"issue_id" uuid PRIMARY KEY NOT NULL,
	"company_id" uuid NOT NULL,
	"agent_id" uuid NOT NULL,
	"context_id" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "a2a_messages" ADD CONSTRAINT "a2a_messages_issue_id_issues_id_fk" FOREIGN KEY ("issue_id") REFERENCES "public"."issues"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "a2a_tasks" ADD CONSTRAINT "a2a_tasks_issue_id_issues_id_fk" FOREIGN KEY ("issue_id") REFERENCES "public"."issues"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "a2a_messages_message" ON "a2a_messages" USING btree ("agent_id","message_id","digest");--> statement-breakpoint
CREATE INDEX "a2a_messages_issue" ON "a2a_messages" USING btree ("issue_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "a2a_tasks_context" ON "a2a_tasks" USING btree ("agent_id","context_id","created_at" DESC NULLS LAST,"issue_id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "issues_a2a" ON "issues" USING btree ("origin_id","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE "issues"."deleted_at" is null and "issues"."origin_kind" = 'a2a';