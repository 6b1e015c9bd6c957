ALTER TABLE "agent_api_keys" ADD COLUMN "created_by_user_id" uuid;--> statement-breakpoint
ALTER TABLE "routine_triggers" ADD COLUMN "created_by_user_id" uuid;--> statement-breakpoint
ALTER TABLE "workers" ADD COLUMN "created_by_user_id" uuid;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "created_by_user_id" uuid;--> statement-breakpoint
ALTER TABLE "repository_webhooks" ADD COLUMN "created_by_user_id" uuid;--> statement-breakpoint
-- The activity knows who created those that exist. What a key created stays without a person.
UPDATE "agent_api_keys" k SET "created_by_user_id" = (
	SELECT a."actor_id" FROM "activity" a
	WHERE a."entity_id" = k."id" AND a."action" = 'agent_key.created' AND a."actor_type" = 'user' LIMIT 1)
WHERE k."run_id" IS NULL;--> statement-breakpoint
UPDATE "routine_triggers" t SET "created_by_user_id" = (
	SELECT a."actor_id" FROM "activity" a
	WHERE a."entity_id" = t."id" AND a."actor_type" = 'user'
		AND a."action" IN ('routine_trigger.created', 'routine_trigger.secret_rotated', 'routine_trigger.signing_mode_set')
	ORDER BY a."created_at" DESC LIMIT 1)
WHERE t."kind" = 'webhook';--> statement-breakpoint
UPDATE "webhooks" w SET "created_by_user_id" = (
	SELECT a."actor_id" FROM "activity" a
	WHERE a."entity_id" = w."id" AND a."actor_type" = 'user' AND a."action" = 'webhook.created' LIMIT 1)
WHERE w."issue_id" IS NULL;--> statement-breakpoint
UPDATE "repository_webhooks" w SET "created_by_user_id" = (
	SELECT a."actor_id" FROM "activity" a
	WHERE a."entity_id" = w."project_id" AND a."actor_type" = 'user' AND a."action" = 'repository_webhook.created'
	ORDER BY a."created_at" DESC LIMIT 1);--> statement-breakpoint
UPDATE "workers" w SET "created_by_user_id" = a."actor_id"
FROM "instance_audit" a
WHERE a."action" = 'worker.created' AND a."actor_type" = 'user' AND a."details" ->> 'worker_id' = w."id"::text;
