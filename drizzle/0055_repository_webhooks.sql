CREATE TABLE "repository_webhooks" (
	"project_id" uuid PRIMARY KEY NOT NULL,
	"company_id" uuid NOT NULL,
	"public_id" uuid NOT NULL,
	"secret_sealed" text NOT NULL,
	"last_event" text,
	"received_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
DROP INDEX "workspaces_project";--> statement-breakpoint
ALTER TABLE "pull_requests" ADD COLUMN "looked_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "review_comments" ADD COLUMN "told_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "review_comments" ADD COLUMN "told_agent_id" uuid;--> statement-breakpoint
ALTER TABLE "workspaces" ADD COLUMN "news_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "repository_webhooks" ADD CONSTRAINT "repository_webhooks_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "repository_webhooks" ADD CONSTRAINT "repository_webhooks_company_id_companies_id_fk" FOREIGN KEY ("company_id") REFERENCES "public"."companies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "repository_webhooks_public_id" ON "repository_webhooks" USING btree ("public_id");--> statement-breakpoint
CREATE INDEX "repository_webhooks_company" ON "repository_webhooks" USING btree ("company_id");--> statement-breakpoint
CREATE INDEX "workspaces_project_branch" ON "workspaces" USING btree ("project_id","branch");