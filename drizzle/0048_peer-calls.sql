CREATE TABLE "a2a_calls" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"peer_id" uuid NOT NULL,
	"issue_id" uuid NOT NULL,
	"remote_agent" text NOT NULL,
	"method" text NOT NULL,
	"error" text,
	"duration_ms" integer NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
DROP INDEX "a2a_delegations_peer";--> statement-breakpoint
ALTER TABLE "a2a_delegations" ADD COLUMN "error" text;--> statement-breakpoint
ALTER TABLE "a2a_delegations" ADD COLUMN "cost_usd" numeric(18, 8);--> statement-breakpoint
ALTER TABLE "a2a_calls" ADD CONSTRAINT "a2a_calls_peer_id_a2a_peers_id_fk" FOREIGN KEY ("peer_id") REFERENCES "public"."a2a_peers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "a2a_calls_peer" ON "a2a_calls" USING btree ("peer_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "a2a_calls_created" ON "a2a_calls" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "a2a_delegations_peer_newest" ON "a2a_delegations" USING btree ("peer_id","created_at" DESC NULLS LAST,"issue_id" DESC NULLS LAST);