ALTER TABLE "webhooks" ADD COLUMN "issue_id" uuid;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "config_id" text;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "dialect" text;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "told" text;--> statement-breakpoint
ALTER TABLE "webhooks" ADD CONSTRAINT "webhooks_issue_id_issues_id_fk" FOREIGN KEY ("issue_id") REFERENCES "public"."issues"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "webhooks_issue" ON "webhooks" USING btree ("issue_id","config_id") WHERE issue_id is not null;