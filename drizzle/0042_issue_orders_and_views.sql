CREATE TABLE "saved_views" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid NOT NULL,
	"owner_id" uuid NOT NULL,
	"name" text NOT NULL,
	"layout" text NOT NULL,
	"filter" jsonb NOT NULL,
	"shared" boolean NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "saved_views" ADD CONSTRAINT "saved_views_company_id_companies_id_fk" FOREIGN KEY ("company_id") REFERENCES "public"."companies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "saved_views_name" ON "saved_views" USING btree ("company_id","owner_id",lower("name"));--> statement-breakpoint
CREATE INDEX "saved_views_company" ON "saved_views" USING btree ("company_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "issues_company_priority" ON "issues" USING btree ("company_id",(case "priority" when 'critical' then 4 when 'high' then 3 when 'medium' then 2 else 1 end) desc nulls last,"created_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE "issues"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "issues_company_title" ON "issues" USING btree ("company_id",(lower(left("title", 40))) desc nulls last,"id" DESC NULLS LAST) WHERE "issues"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "trash_entries_company" ON "trash_entries" USING btree ("company_id","type","deleted_at" DESC NULLS LAST,"trash_id" DESC NULLS LAST);