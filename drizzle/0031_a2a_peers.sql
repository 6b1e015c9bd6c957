CREATE TABLE "a2a_peers" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid NOT NULL,
	"label" text NOT NULL,
	"url" text NOT NULL,
	"api_key_sealed" text,
	"timeout_seconds" integer DEFAULT 60 NOT NULL,
	"rate_limit_rpm" integer DEFAULT 60 NOT NULL,
	"refresh_interval_seconds" integer DEFAULT 3600 NOT NULL,
	"local_preference_bias" double precision DEFAULT 0.2 NOT NULL,
	"enabled" boolean DEFAULT true NOT NULL,
	"status" text DEFAULT 'pending' NOT NULL,
	"agents" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"last_fetched_at" timestamp (3) with time zone,
	"last_fetch_error" text,
	"next_refresh_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"window_started_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"window_calls" integer DEFAULT 0 NOT NULL,
	"calls" integer DEFAULT 0 NOT NULL,
	"errors" integer DEFAULT 0 NOT NULL,
	"last_call_at" timestamp (3) with time zone,
	"last_call_error" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "a2a_peers" ADD CONSTRAINT "a2a_peers_company_id_companies_id_fk" FOREIGN KEY ("company_id") REFERENCES "public"."companies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "a2a_peers_label" ON "a2a_peers" USING btree ("company_id",lower("label"));--> statement-breakpoint
CREATE INDEX "a2a_peers_company" ON "a2a_peers" USING btree ("company_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "a2a_peers_due" ON "a2a_peers" USING btree ("next_refresh_at") WHERE enabled;