ALTER TABLE "providers" ADD COLUMN "default_model" text;--> statement-breakpoint
ALTER TABLE "providers" ADD COLUMN "is_default" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "providers_default" ON "providers" USING btree ("company_id") WHERE "providers"."is_default";