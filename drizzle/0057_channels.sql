CREATE TABLE "channels" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid NOT NULL,
	"name" text NOT NULL,
	"kind" text NOT NULL,
	"bot_token" text NOT NULL,
	"app_token" text,
	"default_agent_id" uuid,
	"groups" text[] DEFAULT '{}' NOT NULL,
	"refused_groups" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"knowledge" text[] DEFAULT '{}' NOT NULL,
	"enabled" boolean DEFAULT true NOT NULL,
	"status" text DEFAULT 'connecting' NOT NULL,
	"last_error" text,
	"failing_since" timestamp (3) with time zone,
	"bot_id" text,
	"bot_name" text,
	"last_seen_at" timestamp (3) with time zone,
	"update_offset" bigint DEFAULT 0 NOT NULL,
	"held_by" text,
	"lease_until" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"fence" bigint DEFAULT 0 NOT NULL,
	"revision" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "channel_inbox" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "channel_inbox_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"channel_id" uuid NOT NULL,
	"external_id" text NOT NULL,
	"payload" jsonb,
	"status" text DEFAULT 'pending' NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"error" text,
	"next_attempt_at" timestamp (3) with time zone DEFAULT now(),
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "channel_outbox" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "channel_outbox_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"channel_id" uuid NOT NULL,
	"user_id" uuid,
	"conversation" text NOT NULL,
	"thread" text DEFAULT '' NOT NULL,
	"kind" text NOT NULL,
	"dedupe_key" text NOT NULL,
	"body" text,
	"chat_message_id" uuid,
	"approval_id" uuid,
	"approval_version" timestamp (3) with time zone,
	"reply_to" text,
	"status" text DEFAULT 'pending' NOT NULL,
	"sent_parts" integer DEFAULT 0 NOT NULL,
	"external_id" text,
	"attempts" integer DEFAULT 0 NOT NULL,
	"error" text,
	"next_attempt_at" timestamp (3) with time zone DEFAULT now(),
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"finished_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "channel_pairing_codes" (
	"channel_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"code_hash" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "channel_pairing_codes_channel_id_user_id_pk" PRIMARY KEY("channel_id","user_id"),
	CONSTRAINT "channel_pairing_codes_hash" UNIQUE("code_hash")
);
--> statement-breakpoint
CREATE TABLE "channel_strangers" (
	"channel_id" uuid NOT NULL,
	"external_id" text NOT NULL,
	"failures" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "channel_strangers_channel_id_external_id_pk" PRIMARY KEY("channel_id","external_id")
);
--> statement-breakpoint
CREATE TABLE "channel_threads" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"channel_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"conversation" text NOT NULL,
	"thread" text NOT NULL,
	"agent_id" uuid,
	"chat_id" uuid,
	"last_message" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
-- None could be made before there were channels.
DELETE FROM "chat_pairings";--> statement-breakpoint
ALTER TABLE "chat_pairings" ADD COLUMN "channel_id" uuid NOT NULL;--> statement-breakpoint
ALTER TABLE "chat_pairings" ADD COLUMN "company_id" uuid NOT NULL;--> statement-breakpoint
ALTER TABLE "chat_pairings" ADD COLUMN "external_name" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "chat_pairings" ADD COLUMN "notify" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "chats" ADD COLUMN "channel_id" uuid;--> statement-breakpoint
ALTER TABLE "channels" ADD CONSTRAINT "channels_company_id_companies_id_fk" FOREIGN KEY ("company_id") REFERENCES "public"."companies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "channels" ADD CONSTRAINT "channels_default_agent_id_agents_id_fk" FOREIGN KEY ("default_agent_id") REFERENCES "public"."agents"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "channel_inbox" ADD CONSTRAINT "channel_inbox_channel_id_channels_id_fk" FOREIGN KEY ("channel_id") REFERENCES "public"."channels"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "channel_outbox" ADD CONSTRAINT "channel_outbox_channel_id_channels_id_fk" FOREIGN KEY ("channel_id") REFERENCES "public"."channels"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "channel_pairing_codes" ADD CONSTRAINT "channel_pairing_codes_channel_id_channels_id_fk" FOREIGN KEY ("channel_id") REFERENCES "public"."channels"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "channel_pairing_codes" ADD CONSTRAINT "channel_pairing_codes_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "channel_strangers" ADD CONSTRAINT "channel_strangers_channel_id_channels_id_fk" FOREIGN KEY ("channel_id") REFERENCES "public"."channels"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "channel_threads" ADD CONSTRAINT "channel_threads_channel_id_channels_id_fk" FOREIGN KEY ("channel_id") REFERENCES "public"."channels"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "channel_threads" ADD CONSTRAINT "channel_threads_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "channel_threads" ADD CONSTRAINT "channel_threads_agent_id_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."agents"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "channel_threads" ADD CONSTRAINT "channel_threads_chat_id_chats_id_fk" FOREIGN KEY ("chat_id") REFERENCES "public"."chats"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "channels_company_name" ON "channels" USING btree ("company_id","name");--> statement-breakpoint
CREATE INDEX "channels_company" ON "channels" USING btree ("company_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "channels_claimable" ON "channels" USING btree ("lease_until") WHERE enabled;--> statement-breakpoint
CREATE UNIQUE INDEX "channel_inbox_external" ON "channel_inbox" USING btree ("channel_id","external_id");--> statement-breakpoint
CREATE INDEX "channel_inbox_pending" ON "channel_inbox" USING btree ("channel_id","seq") WHERE status = 'pending';--> statement-breakpoint
CREATE INDEX "channel_inbox_created_at" ON "channel_inbox" USING btree ("created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "channel_outbox_once" ON "channel_outbox" USING btree ("channel_id","dedupe_key");--> statement-breakpoint
CREATE INDEX "channel_outbox_pending" ON "channel_outbox" USING btree ("channel_id","seq") WHERE status = 'pending';--> statement-breakpoint
CREATE INDEX "channel_outbox_due" ON "channel_outbox" USING btree ("next_attempt_at") WHERE status = 'pending';--> statement-breakpoint
CREATE INDEX "channel_outbox_approval" ON "channel_outbox" USING btree ("approval_id") WHERE approval_id is not null;--> statement-breakpoint
CREATE INDEX "channel_outbox_created_at" ON "channel_outbox" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "channel_pairing_codes_expires_at" ON "channel_pairing_codes" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "channel_pairing_codes_user" ON "channel_pairing_codes" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "channel_strangers_created_at" ON "channel_strangers" USING btree ("created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "channel_threads_place" ON "channel_threads" USING btree ("channel_id","conversation","thread","user_id");--> statement-breakpoint
CREATE INDEX "channel_threads_chat" ON "channel_threads" USING btree ("chat_id");--> statement-breakpoint
CREATE INDEX "channel_threads_user" ON "channel_threads" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "channel_threads_updated_at" ON "channel_threads" USING btree ("updated_at");--> statement-breakpoint
ALTER TABLE "chat_pairings" ADD CONSTRAINT "chat_pairings_channel_id_channels_id_fk" FOREIGN KEY ("channel_id") REFERENCES "public"."channels"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "chats" ADD CONSTRAINT "chats_channel_id_channels_id_fk" FOREIGN KEY ("channel_id") REFERENCES "public"."channels"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "chat_pairings_revoked" ON "chat_pairings" USING btree ("revoked_at") WHERE revoked_at is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "chat_pairings_person" ON "chat_pairings" USING btree ("channel_id","user_id") WHERE revoked_at is null;--> statement-breakpoint
CREATE UNIQUE INDEX "chat_pairings_identity" ON "chat_pairings" USING btree ("channel_id","external_id") WHERE revoked_at is null;--> statement-breakpoint
CREATE INDEX "chat_pairings_company" ON "chat_pairings" USING btree ("company_id") WHERE revoked_at is null;--> statement-breakpoint
CREATE INDEX "chats_channel" ON "chats" USING btree ("channel_id") WHERE channel_id is not null;