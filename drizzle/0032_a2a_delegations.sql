CREATE TABLE "a2a_delegations" (
	"issue_id" uuid PRIMARY KEY NOT NULL,
	"company_id" uuid NOT NULL,
	"peer_id" uuid NOT NULL,
	"agent_id" uuid,
	"remote_agent" text NOT NULL,
	"remote_url" text NOT NULL,
	"dialect" text NOT NULL,
	"message_id" uuid NOT NULL,
	"remote_task_id" text,
	"context_id" text,
	"state" text DEFAULT 'submitted' NOT NULL,
	"said" text,
	"artifacts" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"forwarded_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"failures" integer DEFAULT 0 NOT NULL,
	"failing_since" timestamp (3) with time zone,
	"next_attempt_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"changed_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "a2a_delegations" ADD CONSTRAINT "a2a_delegations_issue_id_issues_id_fk" FOREIGN KEY ("issue_id") REFERENCES "public"."issues"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "a2a_delegations" ADD CONSTRAINT "a2a_delegations_peer_id_a2a_peers_id_fk" FOREIGN KEY ("peer_id") REFERENCES "public"."a2a_peers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "a2a_delegations_due" ON "a2a_delegations" USING btree ("next_attempt_at") WHERE next_attempt_at is not null;--> statement-breakpoint
CREATE INDEX "a2a_delegations_peer" ON "a2a_delegations" USING btree ("peer_id");