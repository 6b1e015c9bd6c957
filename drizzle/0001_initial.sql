CREATE TABLE "commands" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"name" text NOT NULL,
	"company_id" uuid,
	"actor" jsonb NOT NULL,
	"payload" jsonb NOT NULL,
	"status" text DEFAULT 'queued' NOT NULL,
	"deadline" timestamp (3) with time zone NOT NULL,
	"result" jsonb,
	"error" jsonb,
	"claimed_by" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"finished_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "event_sequence" (
	"only_row" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"last" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "event_sequence_only_row" CHECK ("event_sequence"."only_row")
);
--> statement-breakpoint
CREATE TABLE "events" (
	"seq" bigint PRIMARY KEY NOT NULL,
	"id" uuid NOT NULL,
	"company_id" uuid,
	"type" text NOT NULL,
	"data" jsonb NOT NULL,
	"occurred_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "idempotency_keys" (
	"scope_hash" text PRIMARY KEY NOT NULL,
	"request_hash" text NOT NULL,
	"status" bigint,
	"body" jsonb,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "outbox" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "outbox_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"event_id" uuid DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid,
	"type" text NOT NULL,
	"data" jsonb NOT NULL,
	"occurred_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "activity" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid NOT NULL,
	"actor_type" text NOT NULL,
	"actor_id" uuid,
	"actor_name" text NOT NULL,
	"action" text NOT NULL,
	"entity_type" text NOT NULL,
	"entity_id" uuid NOT NULL,
	"details" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "instance_settings" (
	"key" text PRIMARY KEY NOT NULL,
	"value" jsonb NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "login_failures" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"email" text NOT NULL,
	"address" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "sessions" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"token_hash" text NOT NULL,
	"user_id" uuid NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "sessions_token_hash" UNIQUE("token_hash")
);
--> statement-breakpoint
CREATE TABLE "setup_tokens" (
	"token_hash" text PRIMARY KEY NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "users" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"email" text NOT NULL,
	"display_name" text NOT NULL,
	"password_hash" text,
	"instance_role" text DEFAULT 'member' NOT NULL,
	"is_active" boolean DEFAULT true NOT NULL,
	"last_login_at" timestamp (3) with time zone,
	"slack_user_id" text,
	"telegram_user_id" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "board_user_keys" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid NOT NULL,
	"role" text NOT NULL,
	"label" text,
	"key_hash" text NOT NULL,
	"key_prefix" text NOT NULL,
	"created_by_user_id" uuid,
	"last_used_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "board_user_keys_key_hash" UNIQUE("key_hash")
);
--> statement-breakpoint
CREATE TABLE "companies" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"name" text NOT NULL,
	"slug" text NOT NULL,
	"home_dir" text,
	"identifier_prefix" text NOT NULL,
	"next_issue_number" integer DEFAULT 1 NOT NULL,
	"default_worker_tags" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"agent_default_adapter_type" text DEFAULT 'llm' NOT NULL,
	"agent_default_adapter_config" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"agent_default_heartbeat_enabled" boolean DEFAULT false NOT NULL,
	"agent_default_heartbeat_interval_sec" integer DEFAULT 300 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"deleted_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "memberships" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"role" text NOT NULL,
	"joined_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "agent_api_keys" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid NOT NULL,
	"agent_id" uuid NOT NULL,
	"label" text,
	"key_hash" text NOT NULL,
	"key_prefix" text NOT NULL,
	"run_id" uuid,
	"last_used_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "agent_api_keys_key_hash" UNIQUE("key_hash")
);
--> statement-breakpoint
CREATE TABLE "agent_runtime_states" (
	"agent_id" uuid PRIMARY KEY NOT NULL,
	"current_run_id" uuid,
	"last_heartbeat_at" timestamp (3) with time zone,
	"last_error" text,
	"session_id" text,
	"session_cwd" text,
	"session_updated_at" timestamp (3) with time zone,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "agents" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid NOT NULL,
	"name" text NOT NULL,
	"role" text NOT NULL,
	"status" text DEFAULT 'idle' NOT NULL,
	"adapter_type" text NOT NULL,
	"adapter_config" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"title" text,
	"description" text,
	"system_prompt" text,
	"heartbeat_enabled" boolean NOT NULL,
	"heartbeat_interval_sec" integer NOT NULL,
	"max_concurrent_runs" integer DEFAULT 1 NOT NULL,
	"max_issues_per_run" integer DEFAULT 1 NOT NULL,
	"reports_to" uuid,
	"home_dir" text,
	"provider_id" uuid,
	"model" text,
	"externally_available" boolean DEFAULT false NOT NULL,
	"blocked_notify_enabled" boolean DEFAULT false NOT NULL,
	"auto_extract_findings" boolean DEFAULT false NOT NULL,
	"parent_agent_id" uuid,
	"subagent_depth" integer DEFAULT 0 NOT NULL,
	"spawn_reason" text,
	"current_prompt_version_number" integer DEFAULT 1 NOT NULL,
	"gepa_auto_promote" boolean DEFAULT false NOT NULL,
	"gepa_provider_override" text,
	"pause_reason" text,
	"permissions" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"next_heartbeat_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"deleted_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "projects" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid NOT NULL,
	"name" text NOT NULL,
	"description" text,
	"status" text DEFAULT 'active' NOT NULL,
	"goal_id" uuid,
	"lead_agent_id" uuid,
	"repo_url" text,
	"file_backend" text DEFAULT 'local' NOT NULL,
	"module_endpoint" text,
	"default_worker_tags" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"deleted_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "goals" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid NOT NULL,
	"parent_goal_id" uuid,
	"title" text NOT NULL,
	"description" text,
	"level" text DEFAULT 'company' NOT NULL,
	"status" text DEFAULT 'active' NOT NULL,
	"owner_agent_id" uuid,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"deleted_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "wakeup_requests" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid NOT NULL,
	"agent_id" uuid NOT NULL,
	"issue_id" uuid,
	"reason" text NOT NULL,
	"payload" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"status" text DEFAULT 'pending' NOT NULL,
	"cause_run_id" uuid,
	"depth" integer DEFAULT 0 NOT NULL,
	"run_id" uuid,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"consumed_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "issue_labels" (
	"issue_id" uuid NOT NULL,
	"label_id" uuid NOT NULL,
	CONSTRAINT "issue_labels_issue_id_label_id_pk" PRIMARY KEY("issue_id","label_id")
);
--> statement-breakpoint
CREATE TABLE "issue_relations" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid NOT NULL,
	"source_issue_id" uuid NOT NULL,
	"target_issue_id" uuid NOT NULL,
	"relation_type" text NOT NULL,
	"created_by_agent_id" uuid,
	"created_by_user_id" uuid,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "issues" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid NOT NULL,
	"project_id" uuid,
	"goal_id" uuid,
	"parent_issue_id" uuid,
	"title" text NOT NULL,
	"body_markdown" text,
	"status" text DEFAULT 'backlog' NOT NULL,
	"priority" text DEFAULT 'medium' NOT NULL,
	"assignee_agent_id" uuid,
	"checked_out_by_agent_id" uuid,
	"checked_out_at" timestamp (3) with time zone,
	"checkout_run_id" uuid,
	"origin_kind" text DEFAULT 'manual' NOT NULL,
	"origin_id" text,
	"identifier" text NOT NULL,
	"issue_number" integer NOT NULL,
	"awaiting_input" boolean DEFAULT false NOT NULL,
	"needs_routing" boolean DEFAULT false NOT NULL,
	"needs_human_attention" boolean DEFAULT false NOT NULL,
	"blocked_at" timestamp (3) with time zone,
	"blocked_reason" text,
	"blocked_by_agent_id" uuid,
	"stalled_runs" integer DEFAULT 0 NOT NULL,
	"created_by_agent_id" uuid,
	"created_by_user_id" uuid,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"deleted_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "labels" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid NOT NULL,
	"name" text NOT NULL,
	"color" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "comments" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid NOT NULL,
	"issue_id" uuid NOT NULL,
	"author_agent_id" uuid,
	"author_user_id" uuid,
	"author_label" text,
	"body_markdown" text NOT NULL,
	"is_pinned" boolean DEFAULT false NOT NULL,
	"run_id" uuid,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "cost_events" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid NOT NULL,
	"agent_id" uuid,
	"run_id" uuid,
	"issue_id" uuid,
	"project_id" uuid,
	"provider" text NOT NULL,
	"model" text NOT NULL,
	"input_tokens" integer NOT NULL,
	"output_tokens" integer NOT NULL,
	"cached_tokens" integer NOT NULL,
	"cost_usd" numeric(18, 8) NOT NULL,
	"occurred_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "heartbeat_runs" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid NOT NULL,
	"agent_id" uuid NOT NULL,
	"issue_id" uuid,
	"status" text DEFAULT 'queued' NOT NULL,
	"wake_reason" text NOT NULL,
	"trigger_detail" text,
	"adapter_type" text NOT NULL,
	"model" text,
	"input_tokens" integer DEFAULT 0 NOT NULL,
	"output_tokens" integer DEFAULT 0 NOT NULL,
	"cached_tokens" integer DEFAULT 0 NOT NULL,
	"cost_usd" numeric(18, 8) DEFAULT '0' NOT NULL,
	"usage_missing" boolean DEFAULT false NOT NULL,
	"summary" text,
	"error" text,
	"error_category" text,
	"retry_of_run_id" uuid,
	"depth" integer DEFAULT 0 NOT NULL,
	"claimed_by" text,
	"fence" bigint DEFAULT 0 NOT NULL,
	"lease_expires_at" timestamp (3) with time zone,
	"cancel_requested_at" timestamp (3) with time zone,
	"held_before" boolean DEFAULT false NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"started_at" timestamp (3) with time zone,
	"finished_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "run_actions" (
	"run_id" uuid NOT NULL,
	"ordinal" integer NOT NULL,
	"verb" text NOT NULL,
	"args" jsonb NOT NULL,
	"mutating" boolean NOT NULL,
	"ok" boolean NOT NULL,
	"result" text,
	"error" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "run_actions_run_id_ordinal_pk" PRIMARY KEY("run_id","ordinal")
);
--> statement-breakpoint
CREATE TABLE "run_events" (
	"run_id" uuid NOT NULL,
	"seq" integer NOT NULL,
	"kind" text NOT NULL,
	"payload" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "run_events_run_id_seq_pk" PRIMARY KEY("run_id","seq")
);
--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "board_user_keys" ADD CONSTRAINT "board_user_keys_company_id_companies_id_fk" FOREIGN KEY ("company_id") REFERENCES "public"."companies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "memberships" ADD CONSTRAINT "memberships_company_id_companies_id_fk" FOREIGN KEY ("company_id") REFERENCES "public"."companies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "memberships" ADD CONSTRAINT "memberships_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "agent_api_keys" ADD CONSTRAINT "agent_api_keys_company_id_companies_id_fk" FOREIGN KEY ("company_id") REFERENCES "public"."companies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "agent_api_keys" ADD CONSTRAINT "agent_api_keys_agent_id_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."agents"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "agent_runtime_states" ADD CONSTRAINT "agent_runtime_states_agent_id_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."agents"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "agents" ADD CONSTRAINT "agents_company_id_companies_id_fk" FOREIGN KEY ("company_id") REFERENCES "public"."companies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "projects" ADD CONSTRAINT "projects_company_id_companies_id_fk" FOREIGN KEY ("company_id") REFERENCES "public"."companies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "goals" ADD CONSTRAINT "goals_company_id_companies_id_fk" FOREIGN KEY ("company_id") REFERENCES "public"."companies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "wakeup_requests" ADD CONSTRAINT "wakeup_requests_agent_id_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."agents"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "issue_labels" ADD CONSTRAINT "issue_labels_issue_id_issues_id_fk" FOREIGN KEY ("issue_id") REFERENCES "public"."issues"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "issue_labels" ADD CONSTRAINT "issue_labels_label_id_labels_id_fk" FOREIGN KEY ("label_id") REFERENCES "public"."labels"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "issue_relations" ADD CONSTRAINT "issue_relations_source_issue_id_issues_id_fk" FOREIGN KEY ("source_issue_id") REFERENCES "public"."issues"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "issue_relations" ADD CONSTRAINT "issue_relations_target_issue_id_issues_id_fk" FOREIGN KEY ("target_issue_id") REFERENCES "public"."issues"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "issues" ADD CONSTRAINT "issues_company_id_companies_id_fk" FOREIGN KEY ("company_id") REFERENCES "public"."companies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "labels" ADD CONSTRAINT "labels_company_id_companies_id_fk" FOREIGN KEY ("company_id") REFERENCES "public"."companies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "comments" ADD CONSTRAINT "comments_issue_id_issues_id_fk" FOREIGN KEY ("issue_id") REFERENCES "public"."issues"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "heartbeat_runs" ADD CONSTRAINT "heartbeat_runs_agent_id_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."agents"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "run_actions" ADD CONSTRAINT "run_actions_run_id_heartbeat_runs_id_fk" FOREIGN KEY ("run_id") REFERENCES "public"."heartbeat_runs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "run_events" ADD CONSTRAINT "run_events_run_id_heartbeat_runs_id_fk" FOREIGN KEY ("run_id") REFERENCES "public"."heartbeat_runs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "commands_created_at" ON "commands" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "events_occurred_at" ON "events" USING btree ("occurred_at");--> statement-breakpoint
CREATE INDEX "idempotency_keys_created_at" ON "idempotency_keys" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "activity_company" ON "activity" USING btree ("company_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "activity_entity" ON "activity" USING btree ("entity_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "login_failures_email" ON "login_failures" USING btree ("email","created_at");--> statement-breakpoint
CREATE INDEX "login_failures_created_at" ON "login_failures" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "sessions_user" ON "sessions" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "sessions_expires_at" ON "sessions" USING btree ("expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "users_email" ON "users" USING btree (lower("email"));--> statement-breakpoint
CREATE INDEX "board_user_keys_company" ON "board_user_keys" USING btree ("company_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE UNIQUE INDEX "companies_slug" ON "companies" USING btree ("slug") WHERE "companies"."deleted_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "memberships_company_user" ON "memberships" USING btree ("company_id","user_id");--> statement-breakpoint
CREATE INDEX "memberships_user" ON "memberships" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "agent_api_keys_agent" ON "agent_api_keys" USING btree ("agent_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "agents_company" ON "agents" USING btree ("company_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "agents_company_name" ON "agents" USING btree ("company_id",lower("name"));--> statement-breakpoint
CREATE INDEX "agents_reports_to" ON "agents" USING btree ("reports_to") WHERE "agents"."reports_to" is not null;--> statement-breakpoint
CREATE INDEX "agents_next_heartbeat" ON "agents" USING btree ("next_heartbeat_at") WHERE "agents"."next_heartbeat_at" is not null and "agents"."deleted_at" is null and "agents"."status" in ('idle', 'active', 'running', 'error');--> statement-breakpoint
CREATE INDEX "projects_company" ON "projects" USING btree ("company_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "goals_company" ON "goals" USING btree ("company_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE UNIQUE INDEX "wakeup_requests_pending" ON "wakeup_requests" USING btree ("agent_id",coalesce("issue_id", '00000000-0000-0000-0000-000000000000'::uuid)) WHERE "wakeup_requests"."status" = 'pending';--> statement-breakpoint
CREATE INDEX "wakeup_requests_pending_age" ON "wakeup_requests" USING btree ("created_at") WHERE "wakeup_requests"."status" = 'pending';--> statement-breakpoint
CREATE INDEX "wakeup_requests_agent" ON "wakeup_requests" USING btree ("agent_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "wakeup_requests_run" ON "wakeup_requests" USING btree ("run_id") WHERE "wakeup_requests"."run_id" is not null;--> statement-breakpoint
CREATE INDEX "issue_labels_label" ON "issue_labels" USING btree ("label_id");--> statement-breakpoint
CREATE UNIQUE INDEX "issue_relations_unique" ON "issue_relations" USING btree ("source_issue_id","target_issue_id","relation_type");--> statement-breakpoint
CREATE INDEX "issue_relations_target" ON "issue_relations" USING btree ("target_issue_id");--> statement-breakpoint
CREATE UNIQUE INDEX "issues_company_number" ON "issues" USING btree ("company_id","issue_number");--> statement-breakpoint
CREATE INDEX "issues_company" ON "issues" USING btree ("company_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE "issues"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "issues_company_status" ON "issues" USING btree ("company_id","status","created_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE "issues"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "issues_company_assignee" ON "issues" USING btree ("company_id","assignee_agent_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE "issues"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "issues_company_project" ON "issues" USING btree ("company_id","project_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE "issues"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "issues_assignee_actionable" ON "issues" USING btree ("assignee_agent_id","created_at") WHERE "issues"."deleted_at" is null and "issues"."status" in ('todo', 'in_progress');--> statement-breakpoint
CREATE INDEX "issues_parent" ON "issues" USING btree ("parent_issue_id") WHERE "issues"."parent_issue_id" is not null;--> statement-breakpoint
CREATE INDEX "issues_checked_out" ON "issues" USING btree ("checked_out_by_agent_id") WHERE "issues"."checked_out_by_agent_id" is not null;--> statement-breakpoint
CREATE INDEX "issues_search" ON "issues" USING gin ("company_id","title" gin_trgm_ops);--> statement-breakpoint
CREATE UNIQUE INDEX "labels_company_name" ON "labels" USING btree ("company_id",lower("name"));--> statement-breakpoint
CREATE INDEX "comments_issue" ON "comments" USING btree ("issue_id","created_at","id");--> statement-breakpoint
CREATE INDEX "cost_events_company" ON "cost_events" USING btree ("company_id","occurred_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "cost_events_agent" ON "cost_events" USING btree ("agent_id","occurred_at");--> statement-breakpoint
CREATE INDEX "cost_events_project" ON "cost_events" USING btree ("project_id","occurred_at");--> statement-breakpoint
CREATE UNIQUE INDEX "heartbeat_runs_live_issue" ON "heartbeat_runs" USING btree ("issue_id") WHERE "heartbeat_runs"."issue_id" is not null and "heartbeat_runs"."status" in ('queued', 'running');--> statement-breakpoint
CREATE INDEX "heartbeat_runs_queued" ON "heartbeat_runs" USING btree ("company_id","created_at","id") WHERE "heartbeat_runs"."status" = 'queued';--> statement-breakpoint
CREATE INDEX "heartbeat_runs_running" ON "heartbeat_runs" USING btree ("company_id") WHERE "heartbeat_runs"."status" = 'running';--> statement-breakpoint
CREATE INDEX "heartbeat_runs_live_agent" ON "heartbeat_runs" USING btree ("agent_id") WHERE "heartbeat_runs"."status" in ('queued', 'running');--> statement-breakpoint
CREATE INDEX "heartbeat_runs_lease" ON "heartbeat_runs" USING btree ("lease_expires_at") WHERE "heartbeat_runs"."status" = 'running';--> statement-breakpoint
CREATE INDEX "heartbeat_runs_company" ON "heartbeat_runs" USING btree ("company_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "heartbeat_runs_agent" ON "heartbeat_runs" USING btree ("agent_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "heartbeat_runs_issue" ON "heartbeat_runs" USING btree ("issue_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "heartbeat_runs_finished" ON "heartbeat_runs" USING btree ("finished_at") WHERE "heartbeat_runs"."finished_at" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "heartbeat_runs_one_retry" ON "heartbeat_runs" USING btree ("retry_of_run_id") WHERE "heartbeat_runs"."retry_of_run_id" is not null;