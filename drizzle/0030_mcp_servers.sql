CREATE TABLE "mcp_server_agents" (
	"server_id" uuid NOT NULL,
	"agent_id" uuid NOT NULL,
	"tools" jsonb,
	CONSTRAINT "mcp_server_agents_server_id_agent_id_pk" PRIMARY KEY("server_id","agent_id")
);
--> statement-breakpoint
CREATE TABLE "mcp_server_calls" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"server_id" uuid NOT NULL,
	"tool" text NOT NULL,
	"actor_type" text NOT NULL,
	"actor_id" uuid,
	"actor_name" text NOT NULL,
	"ok" boolean NOT NULL,
	"error" text,
	"duration_ms" integer NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "mcp_servers" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid NOT NULL,
	"name" text NOT NULL,
	"url" text NOT NULL,
	"headers" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"allowed_tools" jsonb,
	"restricted" boolean DEFAULT false NOT NULL,
	"enabled" boolean DEFAULT true NOT NULL,
	"timeout_seconds" integer DEFAULT 30 NOT NULL,
	"refresh_interval_seconds" integer DEFAULT 900 NOT NULL,
	"status" text DEFAULT 'unlisted' NOT NULL,
	"listed_tools" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"tool_count" integer DEFAULT 0 NOT NULL,
	"protocol_version" text,
	"server_info" text,
	"last_listed_at" timestamp (3) with time zone,
	"last_error" text,
	"failing_since" timestamp (3) with time zone,
	"failures" integer DEFAULT 0 NOT NULL,
	"next_refresh_at" timestamp (3) with time zone,
	"call_count" integer DEFAULT 0 NOT NULL,
	"failed_call_count" integer DEFAULT 0 NOT NULL,
	"last_called_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "mcp_server_agents" ADD CONSTRAINT "mcp_server_agents_server_id_mcp_servers_id_fk" FOREIGN KEY ("server_id") REFERENCES "public"."mcp_servers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "mcp_server_agents" ADD CONSTRAINT "mcp_server_agents_agent_id_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."agents"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "mcp_server_calls" ADD CONSTRAINT "mcp_server_calls_server_id_mcp_servers_id_fk" FOREIGN KEY ("server_id") REFERENCES "public"."mcp_servers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "mcp_servers" ADD CONSTRAINT "mcp_servers_company_id_companies_id_fk" FOREIGN KEY ("company_id") REFERENCES "public"."companies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "mcp_server_agents_agent" ON "mcp_server_agents" USING btree ("agent_id");--> statement-breakpoint
CREATE INDEX "mcp_server_calls_server" ON "mcp_server_calls" USING btree ("server_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "mcp_server_calls_created" ON "mcp_server_calls" USING btree ("created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "mcp_servers_company_name" ON "mcp_servers" USING btree ("company_id","name");--> statement-breakpoint
CREATE INDEX "mcp_servers_company" ON "mcp_servers" USING btree ("company_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "mcp_servers_due" ON "mcp_servers" USING btree ("next_refresh_at") WHERE next_refresh_at is not null;