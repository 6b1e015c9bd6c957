DROP INDEX "budget_reservations_run";--> statement-breakpoint
ALTER TABLE "agents" ADD COLUMN "budget_paused" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "budget_reservations" ADD COLUMN "settled_usd" numeric(18, 8) DEFAULT '0' NOT NULL;--> statement-breakpoint
ALTER TABLE "approvals" ADD COLUMN "requested_by_key_id" uuid;--> statement-breakpoint
ALTER TABLE "approvals" ADD COLUMN "decided_by_key_id" uuid;--> statement-breakpoint
CREATE INDEX "agents_budget_paused" ON "agents" USING btree ("company_id") WHERE "agents"."budget_paused";--> statement-breakpoint
CREATE UNIQUE INDEX "budget_reservations_run" ON "budget_reservations" USING btree ("run_id","policy_id","window_start");