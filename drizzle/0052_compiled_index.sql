CREATE TABLE "compile_settings" (
	"company_id" uuid PRIMARY KEY NOT NULL,
	"agent_id" uuid,
	"every_hours" integer,
	"next_at" timestamp (3) with time zone,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "compiled_batches" (
	"index_id" uuid NOT NULL,
	"number" integer NOT NULL,
	"source_keys" uuid[] NOT NULL,
	"revisions" integer[] NOT NULL,
	"run_id" uuid,
	"status" text DEFAULT 'planned' NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"error" text,
	"error_category" text,
	CONSTRAINT "compiled_batches_index_id_number_pk" PRIMARY KEY("index_id","number")
);
--> statement-breakpoint
CREATE TABLE "compiled_citations" (
	"statement_id" uuid NOT NULL,
	"source_key" uuid NOT NULL,
	"state" text DEFAULT 'current' NOT NULL,
	CONSTRAINT "compiled_citations_statement_id_source_key_pk" PRIMARY KEY("statement_id","source_key")
);
--> statement-breakpoint
CREATE TABLE "compiled_indexes" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid NOT NULL,
	"agent_id" uuid NOT NULL,
	"version" integer NOT NULL,
	"status" text DEFAULT 'compiling' NOT NULL,
	"error" text,
	"waiting_reason" text,
	"promoted_by_user_id" uuid,
	"promoted_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"finished_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "compiled_sources" (
	"source_key" uuid PRIMARY KEY NOT NULL,
	"revision" integer NOT NULL,
	"index_id" uuid
);
--> statement-breakpoint
CREATE TABLE "compiled_statements" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"index_id" uuid NOT NULL,
	"ordinal" integer NOT NULL,
	"topic" text NOT NULL,
	"text" text NOT NULL
);
--> statement-breakpoint
ALTER TABLE "compile_settings" ADD CONSTRAINT "compile_settings_company_id_companies_id_fk" FOREIGN KEY ("company_id") REFERENCES "public"."companies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "compile_settings" ADD CONSTRAINT "compile_settings_agent_id_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."agents"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "compiled_batches" ADD CONSTRAINT "compiled_batches_index_id_compiled_indexes_id_fk" FOREIGN KEY ("index_id") REFERENCES "public"."compiled_indexes"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "compiled_citations" ADD CONSTRAINT "compiled_citations_statement_id_compiled_statements_id_fk" FOREIGN KEY ("statement_id") REFERENCES "public"."compiled_statements"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "compiled_indexes" ADD CONSTRAINT "compiled_indexes_company_id_companies_id_fk" FOREIGN KEY ("company_id") REFERENCES "public"."companies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "compiled_sources" ADD CONSTRAINT "compiled_sources_source_key_knowledge_sources_id_fk" FOREIGN KEY ("source_key") REFERENCES "public"."knowledge_sources"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "compiled_sources" ADD CONSTRAINT "compiled_sources_index_id_compiled_indexes_id_fk" FOREIGN KEY ("index_id") REFERENCES "public"."compiled_indexes"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "compiled_statements" ADD CONSTRAINT "compiled_statements_index_id_compiled_indexes_id_fk" FOREIGN KEY ("index_id") REFERENCES "public"."compiled_indexes"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "compile_settings_agent" ON "compile_settings" USING btree ("agent_id");--> statement-breakpoint
CREATE INDEX "compile_settings_due" ON "compile_settings" USING btree ("next_at") WHERE "compile_settings"."next_at" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "compiled_batches_run" ON "compiled_batches" USING btree ("run_id") WHERE "compiled_batches"."run_id" is not null;--> statement-breakpoint
CREATE INDEX "compiled_citations_source" ON "compiled_citations" USING btree ("source_key");--> statement-breakpoint
CREATE UNIQUE INDEX "compiled_indexes_version" ON "compiled_indexes" USING btree ("company_id","version" DESC NULLS LAST);--> statement-breakpoint
CREATE UNIQUE INDEX "compiled_indexes_one" ON "compiled_indexes" USING btree ("company_id","status") WHERE "compiled_indexes"."status" in ('compiling', 'draft', 'promoted');--> statement-breakpoint
CREATE INDEX "compiled_indexes_compiling" ON "compiled_indexes" USING btree ("created_at") WHERE "compiled_indexes"."status" = 'compiling';--> statement-breakpoint
CREATE INDEX "compiled_sources_index" ON "compiled_sources" USING btree ("index_id");--> statement-breakpoint
CREATE INDEX "compiled_statements_index" ON "compiled_statements" USING btree ("index_id","ordinal");--> statement-breakpoint
-- Statements of the compiled index whose source has changed or is gone are marked in the same transaction.
create function compiled_source_changed() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    update compiled_citations set state = 'gone' where source_key = old.id and state <> 'gone';
  else
    update compiled_citations set state = 'changed' where source_key = new.id and state = 'current';
  end if;
  return null;
end $$;--> statement-breakpoint
create trigger knowledge_sources_compiled after delete or update of revision
  on knowledge_sources for each row execute function compiled_source_changed();
