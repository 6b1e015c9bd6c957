ALTER TABLE "commands" ADD COLUMN "payload_key" text;--> statement-breakpoint
ALTER TABLE "commands" ADD COLUMN "result_key" text;--> statement-breakpoint
ALTER TABLE "commands" ADD COLUMN "lease" text;--> statement-breakpoint
CREATE INDEX "commands_waiting_for_lease" ON "commands" USING btree ("lease") WHERE status = 'queued' and lease is not null;