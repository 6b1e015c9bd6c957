CREATE TABLE "knowledge_embeddings" (
	"company_id" uuid PRIMARY KEY NOT NULL,
	"wanted_at" timestamp (3) with time zone,
	"next_attempt_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"space" uuid,
	"model" text,
	"dimensions" integer,
	"failures" integer DEFAULT 0 NOT NULL,
	"error" text
);
--> statement-breakpoint
CREATE TABLE "knowledge_vectors" (
	"chunk_id" uuid PRIMARY KEY NOT NULL,
	"company_id" uuid NOT NULL,
	"space" uuid NOT NULL,
	"signs" "varbit" NOT NULL,
	"embedding" "bytea" NOT NULL
);
--> statement-breakpoint
ALTER TABLE "knowledge_embeddings" ADD CONSTRAINT "knowledge_embeddings_company_id_companies_id_fk" FOREIGN KEY ("company_id") REFERENCES "public"."companies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "knowledge_vectors" ADD CONSTRAINT "knowledge_vectors_chunk_id_knowledge_chunks_id_fk" FOREIGN KEY ("chunk_id") REFERENCES "public"."knowledge_chunks"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "knowledge_embeddings_due" ON "knowledge_embeddings" USING btree ("next_attempt_at") WHERE wanted_at is not null;--> statement-breakpoint
CREATE INDEX "knowledge_vectors_company" ON "knowledge_vectors" USING btree ("company_id","space");--> statement-breakpoint
CREATE INDEX "knowledge_chunks_company" ON "knowledge_chunks" USING btree ("company_id","id");--> statement-breakpoint
alter table knowledge_vectors alter column embedding set storage external;--> statement-breakpoint
alter table knowledge_vectors set (toast_tuple_target = 128);--> statement-breakpoint
-- Another provider, or another model of it, computes everything anew; one whose key was mended is tried at once.
create function knowledge_provider_changed() returns trigger language plpgsql as $$
begin
  update knowledge_embeddings set wanted_at = now(), next_attempt_at = now(), failures = 0
    where company_id = case when tg_op = 'DELETE' then old.company_id else new.company_id end;
  return null;
end $$;--> statement-breakpoint
create trigger providers_knowledge after insert or delete
  or update of adapter_type, base_url, enabled, embeddings, embedding_model, api_key_sealed, custom_headers_sealed
  on providers for each row execute function knowledge_provider_changed();--> statement-breakpoint
insert into knowledge_embeddings (company_id, wanted_at) select distinct company_id, now() from knowledge_chunks;
