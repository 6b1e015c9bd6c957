CREATE TABLE "pull_requests" (
	"work_product_id" uuid PRIMARY KEY NOT NULL,
	"workspace_id" uuid NOT NULL,
	"company_id" uuid NOT NULL,
	"provider" text NOT NULL,
	"api_url" text NOT NULL,
	"repository" text NOT NULL,
	"number" integer NOT NULL,
	"open" boolean DEFAULT true NOT NULL,
	"next_look_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"failures" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "review_comments" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid NOT NULL,
	"issue_id" uuid NOT NULL,
	"path" text NOT NULL,
	"side" text NOT NULL,
	"line" integer NOT NULL,
	"line_text" text,
	"commit" text,
	"body_markdown" text NOT NULL,
	"status" text DEFAULT 'open' NOT NULL,
	"author_user_id" uuid,
	"author_agent_id" uuid,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "workspace_actions" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid NOT NULL,
	"workspace_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"input" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"status" text DEFAULT 'queued' NOT NULL,
	"error" text,
	"created_by_user_id" uuid,
	"lease_expires_at" timestamp (3) with time zone,
	"attempts" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"finished_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "workspace_bundles" (
	"workspace_id" uuid PRIMARY KEY NOT NULL,
	"storage_key" text NOT NULL,
	"size_bytes" bigint NOT NULL,
	"sha256" text NOT NULL,
	"version" integer NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "workspace_commits" (
	"workspace_id" uuid NOT NULL,
	"position" integer NOT NULL,
	"sha" text NOT NULL,
	"author_name" text NOT NULL,
	"subject" text NOT NULL,
	"committed_at" timestamp (3) with time zone,
	CONSTRAINT "workspace_commits_workspace_id_position_pk" PRIMARY KEY("workspace_id","position")
);
--> statement-breakpoint
CREATE TABLE "workspace_files" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"workspace_id" uuid NOT NULL,
	"run_id" uuid,
	"position" integer NOT NULL,
	"path" text NOT NULL,
	"old_path" text,
	"status" text NOT NULL,
	"additions" integer NOT NULL,
	"deletions" integer NOT NULL,
	"binary" boolean NOT NULL,
	"patch" text,
	"patch_truncated" boolean NOT NULL
);
--> statement-breakpoint
CREATE TABLE "workspaces" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid NOT NULL,
	"issue_id" uuid NOT NULL,
	"project_id" uuid,
	"kind" text NOT NULL,
	"repo_url" text,
	"base_branch" text,
	"branch" text,
	"state" text DEFAULT 'empty' NOT NULL,
	"error" text,
	"base_commit" text,
	"head_commit" text,
	"work_commit" text,
	"pushed_commit" text,
	"pushed_at" timestamp (3) with time zone,
	"version" integer DEFAULT 0 NOT NULL,
	"place" text,
	"size_bytes" bigint DEFAULT 0 NOT NULL,
	"commit_count" integer DEFAULT 0 NOT NULL,
	"file_count" integer DEFAULT 0 NOT NULL,
	"additions" integer DEFAULT 0 NOT NULL,
	"deletions" integer DEFAULT 0 NOT NULL,
	"truncated" boolean DEFAULT false NOT NULL,
	"review_state" text DEFAULT 'none' NOT NULL,
	"check_status" text DEFAULT 'none' NOT NULL,
	"check_output" text,
	"checked_at" timestamp (3) with time zone,
	"last_run_id" uuid,
	"last_used_at" timestamp (3) with time zone,
	"removed_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "base_branch" text;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "branch_template" text;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "repo_secret" text;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "setup_command" text;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "check_command" text;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "env" jsonb DEFAULT '{}'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "push_after_run" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "close_on_merge" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "workspace_days" integer DEFAULT 7 NOT NULL;--> statement-breakpoint
ALTER TABLE "task_sessions" ADD COLUMN "session_id" text;--> statement-breakpoint
ALTER TABLE "task_sessions" ADD COLUMN "session_cwd" text;--> statement-breakpoint
ALTER TABLE "task_sessions" ADD COLUMN "session_totals" jsonb;--> statement-breakpoint
ALTER TABLE "task_sessions" ADD COLUMN "session_begun_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "task_sessions" ADD COLUMN "session_updated_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "pull_requests" ADD CONSTRAINT "pull_requests_work_product_id_work_products_id_fk" FOREIGN KEY ("work_product_id") REFERENCES "public"."work_products"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "pull_requests" ADD CONSTRAINT "pull_requests_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "pull_requests" ADD CONSTRAINT "pull_requests_company_id_companies_id_fk" FOREIGN KEY ("company_id") REFERENCES "public"."companies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "review_comments" ADD CONSTRAINT "review_comments_company_id_companies_id_fk" FOREIGN KEY ("company_id") REFERENCES "public"."companies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "review_comments" ADD CONSTRAINT "review_comments_issue_id_issues_id_fk" FOREIGN KEY ("issue_id") REFERENCES "public"."issues"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "workspace_actions" ADD CONSTRAINT "workspace_actions_company_id_companies_id_fk" FOREIGN KEY ("company_id") REFERENCES "public"."companies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "workspace_actions" ADD CONSTRAINT "workspace_actions_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "workspace_bundles" ADD CONSTRAINT "workspace_bundles_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "workspace_commits" ADD CONSTRAINT "workspace_commits_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "workspace_files" ADD CONSTRAINT "workspace_files_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "workspace_files" ADD CONSTRAINT "workspace_files_run_id_heartbeat_runs_id_fk" FOREIGN KEY ("run_id") REFERENCES "public"."heartbeat_runs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "workspaces" ADD CONSTRAINT "workspaces_company_id_companies_id_fk" FOREIGN KEY ("company_id") REFERENCES "public"."companies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "workspaces" ADD CONSTRAINT "workspaces_issue_id_issues_id_fk" FOREIGN KEY ("issue_id") REFERENCES "public"."issues"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "workspaces" ADD CONSTRAINT "workspaces_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "pull_requests_due" ON "pull_requests" USING btree ("next_look_at") WHERE "pull_requests"."open";--> statement-breakpoint
CREATE INDEX "pull_requests_workspace" ON "pull_requests" USING btree ("workspace_id");--> statement-breakpoint
CREATE INDEX "pull_requests_company" ON "pull_requests" USING btree ("company_id");--> statement-breakpoint
CREATE INDEX "review_comments_issue" ON "review_comments" USING btree ("issue_id","created_at","id");--> statement-breakpoint
CREATE INDEX "review_comments_company" ON "review_comments" USING btree ("company_id");--> statement-breakpoint
CREATE UNIQUE INDEX "workspace_actions_live" ON "workspace_actions" USING btree ("workspace_id") WHERE "workspace_actions"."status" in ('queued', 'running');--> statement-breakpoint
CREATE INDEX "workspace_actions_workspace" ON "workspace_actions" USING btree ("workspace_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "workspace_actions_open" ON "workspace_actions" USING btree ("created_at") WHERE "workspace_actions"."status" in ('queued', 'running');--> statement-breakpoint
CREATE INDEX "workspace_actions_company" ON "workspace_actions" USING btree ("company_id");--> statement-breakpoint
CREATE UNIQUE INDEX "workspace_files_branch" ON "workspace_files" USING btree ("workspace_id","position") WHERE "workspace_files"."run_id" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "workspace_files_run" ON "workspace_files" USING btree ("run_id","position") WHERE "workspace_files"."run_id" is not null;--> statement-breakpoint
CREATE INDEX "workspace_files_workspace" ON "workspace_files" USING btree ("workspace_id");--> statement-breakpoint
CREATE UNIQUE INDEX "workspaces_issue" ON "workspaces" USING btree ("issue_id");--> statement-breakpoint
CREATE INDEX "workspaces_company" ON "workspaces" USING btree ("company_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "workspaces_project" ON "workspaces" USING btree ("project_id");--> statement-breakpoint
CREATE INDEX "workspaces_place" ON "workspaces" USING btree ("place","last_used_at") WHERE "workspaces"."place" is not null;--> statement-breakpoint
-- The bytes of a bundle are deleted when its row goes, or names another one.
create trigger workspace_bundles_orphan_storage_key after delete or update of storage_key on workspace_bundles
for each row execute function orphan_storage_key();
