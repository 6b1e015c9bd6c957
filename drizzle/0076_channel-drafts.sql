CREATE TABLE "channel_drafts" (
	"question_id" uuid PRIMARY KEY NOT NULL,
	"channel_id" uuid NOT NULL,
	"parts" text[] NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "channel_outbox" ADD COLUMN "question_id" uuid;--> statement-breakpoint
ALTER TABLE "channel_drafts" ADD CONSTRAINT "channel_drafts_question_id_chat_messages_id_fk" FOREIGN KEY ("question_id") REFERENCES "public"."chat_messages"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "channel_drafts" ADD CONSTRAINT "channel_drafts_channel_id_channels_id_fk" FOREIGN KEY ("channel_id") REFERENCES "public"."channels"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "channel_drafts_channel" ON "channel_drafts" USING btree ("channel_id");--> statement-breakpoint
CREATE INDEX "channel_drafts_created_at" ON "channel_drafts" USING btree ("created_at");