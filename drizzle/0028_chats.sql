CREATE TABLE "chat_messages" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid NOT NULL,
	"chat_id" uuid NOT NULL,
	"position" integer NOT NULL,
	"role" text NOT NULL,
	"body_markdown" text NOT NULL,
	"author_user_id" uuid,
	"author_agent_id" uuid,
	"author_name" text NOT NULL,
	"status" text NOT NULL,
	"error" text,
	"run_id" uuid,
	"depth" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "chats" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid NOT NULL,
	"agent_id" uuid NOT NULL,
	"title" text,
	"channel" text DEFAULT 'web' NOT NULL,
	"created_by_user_id" uuid,
	"created_by_agent_id" uuid,
	"last_turn" integer DEFAULT 0 NOT NULL,
	"summary" text,
	"summary_turn" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "heartbeat_runs" ADD COLUMN "private_to_user_id" uuid;--> statement-breakpoint
ALTER TABLE "chat_messages" ADD CONSTRAINT "chat_messages_chat_id_chats_id_fk" FOREIGN KEY ("chat_id") REFERENCES "public"."chats"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "chats" ADD CONSTRAINT "chats_agent_id_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."agents"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "chat_messages_position" ON "chat_messages" USING btree ("chat_id","position");--> statement-breakpoint
CREATE INDEX "chat_messages_waiting" ON "chat_messages" USING btree ("chat_id","position") WHERE "chat_messages"."status" in ('waiting', 'answering');--> statement-breakpoint
CREATE INDEX "chats_owner" ON "chats" USING btree ("company_id","created_by_user_id","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "chats_open" ON "chats" USING btree ("company_id","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE "chats"."created_by_user_id" is null;--> statement-breakpoint
CREATE INDEX "chats_agent" ON "chats" USING btree ("agent_id");--> statement-breakpoint
CREATE INDEX "heartbeat_runs_subject" ON "heartbeat_runs" USING btree ("subject_id","created_at" DESC NULLS LAST) WHERE "heartbeat_runs"."kind" <> 'heartbeat';--> statement-breakpoint
alter table chat_messages add column words tsvector not null
  generated always as (to_tsvector('simple', searchable_text(body_markdown))) stored;--> statement-breakpoint
create index chat_messages_text on chat_messages using gin (words);
