ALTER TABLE "a2a_delegations" ADD COLUMN "claimed_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "a2a_delegations" ADD COLUMN "push_token_sealed" text;--> statement-breakpoint
ALTER TABLE "a2a_delegations" ADD COLUMN "notified_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "webhook_deliveries_tasks" ON "webhook_deliveries" USING btree ("company_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE event_type = 'a2a.task';