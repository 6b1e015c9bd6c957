CREATE TABLE "agent_file_texts" (
	"file_id" uuid PRIMARY KEY NOT NULL,
	"company_id" uuid NOT NULL,
	"agent_id" uuid NOT NULL,
	"status" text DEFAULT 'pending' NOT NULL,
	"losses" integer DEFAULT 0 NOT NULL,
	"extracted_text" text,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "agents" ADD COLUMN "files_as_knowledge" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "agent_file_texts" ADD CONSTRAINT "agent_file_texts_file_id_agent_files_id_fk" FOREIGN KEY ("file_id") REFERENCES "public"."agent_files"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "agent_file_texts_agent" ON "agent_file_texts" USING btree ("agent_id");--> statement-breakpoint
CREATE INDEX "agent_file_texts_open" ON "agent_file_texts" USING btree ("company_id","updated_at","file_id") WHERE "agent_file_texts"."status" in ('pending', 'reading');--> statement-breakpoint
-- Which texts are wanted: those of the files of agents whose owner says so.
create function agent_file_text_wanted() returns trigger language plpgsql as $$
begin
  if new.kind = 'file' then
    insert into agent_file_texts (file_id, company_id, agent_id)
      select new.id, new.company_id, new.agent_id from agents a where a.id = new.agent_id and a.files_as_knowledge;
  end if;
  return null;
end $$;--> statement-breakpoint
create trigger agent_files_text_wanted after insert on agent_files
  for each row execute function agent_file_text_wanted();--> statement-breakpoint
create function agent_file_texts_wanted() returns trigger language plpgsql as $$
begin
  if new.files_as_knowledge is distinct from old.files_as_knowledge then
    if new.files_as_knowledge then
      insert into agent_file_texts (file_id, company_id, agent_id)
        select f.id, f.company_id, f.agent_id from agent_files f where f.agent_id = new.id and f.kind = 'file'
        on conflict do nothing;
    else
      delete from agent_file_texts where agent_id = new.id;
    end if;
  end if;
  -- Of an agent in the trash nothing is known; when it comes back, so do its files.
  if new.deleted_at is distinct from old.deleted_at then
    if new.deleted_at is not null then
      perform knowledge_gone('agent_file', t.file_id) from agent_file_texts t where t.agent_id = new.id;
    else
      perform knowledge_changed('agent_file', t.file_id, t.company_id, null)
        from agent_file_texts t where t.agent_id = new.id and t.status = 'done';
    end if;
  end if;
  return null;
end $$;--> statement-breakpoint
create trigger agents_file_texts_wanted after update of files_as_knowledge, deleted_at on agents
  for each row execute function agent_file_texts_wanted();--> statement-breakpoint
create function knowledge_of_agent_file() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    perform knowledge_gone('agent_file', old.file_id);
  elsif new.status = 'done' then
    perform knowledge_changed('agent_file', new.file_id, new.company_id, null)
      from agents a where a.id = new.agent_id and a.deleted_at is null;
  elsif tg_op = 'UPDATE' and old.status = 'done' then
    perform knowledge_gone('agent_file', new.file_id);
  end if;
  return null;
end $$;--> statement-breakpoint
create trigger agent_file_texts_knowledge after insert or delete or update of status, extracted_text
  on agent_file_texts for each row execute function knowledge_of_agent_file();
