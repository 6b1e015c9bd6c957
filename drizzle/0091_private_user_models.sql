ALTER TABLE "user_models" ADD COLUMN "private_markdown" text;--> statement-breakpoint
-- Where the notes of rows that exist come from is not known: they may quote private chats.
UPDATE "user_models" SET "private_markdown" = "body_markdown", "body_markdown" = '';
