CREATE INDEX CONCURRENTLY IF NOT EXISTS "board_user_keys_created_by" ON "board_user_keys" USING btree ("created_by_user_id") WHERE "board_user_keys"."created_by_user_id" is not null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "agent_api_keys_created_by" ON "agent_api_keys" USING btree ("created_by_user_id") WHERE "agent_api_keys"."created_by_user_id" is not null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "routine_triggers_created_by" ON "routine_triggers" USING btree ("created_by_user_id") WHERE "routine_triggers"."created_by_user_id" is not null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "workers_created_by" ON "workers" USING btree ("created_by_user_id") WHERE "workers"."created_by_user_id" is not null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "webhooks_created_by" ON "webhooks" USING btree ("created_by_user_id") WHERE "webhooks"."created_by_user_id" is not null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "repository_webhooks_created_by" ON "repository_webhooks" USING btree ("created_by_user_id") WHERE "repository_webhooks"."created_by_user_id" is not null;
