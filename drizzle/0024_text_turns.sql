ALTER TABLE "attachment_texts" ADD COLUMN "company_id" uuid;--> statement-breakpoint
ALTER TABLE "attachment_texts" ADD COLUMN "queued_at" timestamp (3) with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
ALTER TABLE "attachment_texts" ADD COLUMN "losses" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "attachment_texts_pending" ON "attachment_texts" USING btree ("company_id","queued_at","attachment_id") WHERE "attachment_texts"."status" = 'pending';--> statement-breakpoint
UPDATE "attachment_texts" SET "company_id" = f."company_id", "queued_at" = f."created_at" FROM "attachments" f WHERE f."id" = "attachment_texts"."attachment_id" AND "attachment_texts"."status" = 'pending';
