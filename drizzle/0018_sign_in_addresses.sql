DROP INDEX "users_email";--> statement-breakpoint
ALTER TABLE "oauth_flows" ADD COLUMN "next_path" text;--> statement-breakpoint
CREATE UNIQUE INDEX "users_email" ON "users" USING btree (lower("email" collate "C"));