CREATE TABLE "company_egress" (
	"company_id" uuid PRIMARY KEY NOT NULL,
	"hosts" jsonb,
	"version" integer NOT NULL,
	"updated_by_user_id" uuid,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "egress_refusals" (
	"company_id" uuid NOT NULL,
	"subject_id" uuid NOT NULL,
	"host" text NOT NULL,
	"port" integer NOT NULL,
	"door" text NOT NULL,
	"times" integer NOT NULL,
	"last_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "egress_refusals_subject_id_host_port_pk" PRIMARY KEY("subject_id","host","port")
);
--> statement-breakpoint
ALTER TABLE "company_egress" ADD CONSTRAINT "company_egress_company_id_companies_id_fk" FOREIGN KEY ("company_id") REFERENCES "public"."companies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "egress_refusals" ADD CONSTRAINT "egress_refusals_company_id_companies_id_fk" FOREIGN KEY ("company_id") REFERENCES "public"."companies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "egress_refusals_company" ON "egress_refusals" USING btree ("company_id","last_at" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "egress_refusals_last_at" ON "egress_refusals" USING btree ("last_at");