CREATE TABLE "knowledge_chunks" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"source_key" uuid NOT NULL,
	"company_id" uuid NOT NULL,
	"ordinal" integer NOT NULL,
	"heading" text NOT NULL,
	"text" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "knowledge_sources" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"company_id" uuid NOT NULL,
	"source_type" text NOT NULL,
	"source_id" uuid NOT NULL,
	"issue_id" uuid,
	"revision" integer DEFAULT 1 NOT NULL,
	"chunked_revision" integer DEFAULT 0 NOT NULL,
	"changed_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"chunk_count" integer DEFAULT 0 NOT NULL,
	"cut" boolean DEFAULT false NOT NULL
);
--> statement-breakpoint
ALTER TABLE "knowledge_chunks" ADD CONSTRAINT "knowledge_chunks_source_key_knowledge_sources_id_fk" FOREIGN KEY ("source_key") REFERENCES "public"."knowledge_sources"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "knowledge_sources" ADD CONSTRAINT "knowledge_sources_company_id_companies_id_fk" FOREIGN KEY ("company_id") REFERENCES "public"."companies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "knowledge_chunks_source" ON "knowledge_chunks" USING btree ("source_key","ordinal");--> statement-breakpoint
CREATE INDEX "knowledge_chunks_heading" ON "knowledge_chunks" USING gin ("company_id","heading" gin_trgm_ops);--> statement-breakpoint
CREATE UNIQUE INDEX "knowledge_sources_source" ON "knowledge_sources" USING btree ("source_type","source_id");--> statement-breakpoint
CREATE INDEX "knowledge_sources_company" ON "knowledge_sources" USING btree ("company_id");--> statement-breakpoint
CREATE INDEX "knowledge_sources_issue" ON "knowledge_sources" USING btree ("issue_id");--> statement-breakpoint
CREATE INDEX "knowledge_sources_stale" ON "knowledge_sources" USING btree ("company_id","changed_at","id") WHERE chunked_revision <> revision;--> statement-breakpoint
alter table knowledge_chunks add column words tsvector not null
  generated always as (setweight(to_tsvector('simple', searchable_text(heading)), 'A') || to_tsvector('simple', searchable_text(text))) stored;--> statement-breakpoint
create index knowledge_chunks_text on knowledge_chunks using gin (company_id, words);--> statement-breakpoint
-- The source is new or has changed: what its chunks say is not served until they are made anew.
create function knowledge_changed(kind text, source uuid, company uuid, issue uuid) returns void language sql as $$
  insert into knowledge_sources as s (source_type, source_id, company_id, issue_id) values (kind, source, company, issue)
  on conflict (source_type, source_id) do update set revision = s.revision + 1, changed_at = now()
$$;--> statement-breakpoint
create function knowledge_gone(kind text, source uuid) returns void language sql as $$
  delete from knowledge_sources where source_type = kind and source_id = source
$$;--> statement-breakpoint
create function knowledge_of_note() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    perform knowledge_gone('note', old.id);
  elsif new.deleted_at is null and new.archived_at is null then
    perform knowledge_changed('note', new.id, new.company_id, null);
  else
    perform knowledge_gone('note', new.id);
  end if;
  return null;
end $$;--> statement-breakpoint
create trigger notes_knowledge after insert or delete or update of title, body_markdown, kind, archived_at, deleted_at
  on notes for each row execute function knowledge_of_note();--> statement-breakpoint
create function knowledge_of_document() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    perform knowledge_gone('document', old.id);
  else
    perform knowledge_changed('document', new.id, new.company_id, new.issue_id);
  end if;
  return null;
end $$;--> statement-breakpoint
create trigger documents_knowledge after insert or delete or update of title, latest_revision_id
  on documents for each row execute function knowledge_of_document();--> statement-breakpoint
create function knowledge_of_attachment() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    perform knowledge_gone('attachment', old.attachment_id);
  elsif new.status = 'done' then
    perform knowledge_changed('attachment', f.id, f.company_id, f.issue_id) from attachments f where f.id = new.attachment_id;
  elsif tg_op = 'UPDATE' and old.status = 'done' then
    perform knowledge_gone('attachment', new.attachment_id);
  end if;
  return null;
end $$;--> statement-breakpoint
create trigger attachment_texts_knowledge after insert or delete or update of status, extracted_text
  on attachment_texts for each row execute function knowledge_of_attachment();--> statement-breakpoint
-- Of an issue in the trash nothing is known; when it comes back, so does what lies on it.
create function knowledge_of_issue() returns trigger language plpgsql as $$
declare
  closed constant text[] := array['done', 'cancelled'];
begin
  if tg_op = 'DELETE' then
    delete from knowledge_sources where issue_id = old.id;
    return null;
  end if;
  if new.deleted_at is not null then
    if tg_op = 'UPDATE' and old.deleted_at is null then
      delete from knowledge_sources where issue_id = new.id;
    end if;
    return null;
  end if;
  if tg_op = 'UPDATE' and old.deleted_at is not null then
    perform knowledge_changed('document', d.id, d.company_id, d.issue_id) from documents d where d.issue_id = new.id;
    perform knowledge_changed('attachment', f.id, f.company_id, f.issue_id)
      from attachments f join attachment_texts t on t.attachment_id = f.id and t.status = 'done' where f.issue_id = new.id;
  end if;
  if new.status = any (closed) then
    perform knowledge_changed('issue', new.id, new.company_id, new.id);
  elsif tg_op = 'UPDATE' and old.status = any (closed) then
    perform knowledge_gone('issue', new.id);
  end if;
  return null;
end $$;--> statement-breakpoint
create trigger issues_knowledge after insert or delete or update of status, title, body_markdown, deleted_at
  on issues for each row execute function knowledge_of_issue();--> statement-breakpoint
-- What is said on a closed issue, and its reports, belong to what came of it.
create function knowledge_of_conclusion() returns trigger language plpgsql as $$
begin
  perform knowledge_changed('issue', i.id, i.company_id, i.id) from issues i
    where i.id = case when tg_op = 'DELETE' then old.issue_id else new.issue_id end
      and i.status in ('done', 'cancelled') and i.deleted_at is null;
  return null;
end $$;--> statement-breakpoint
create trigger comments_knowledge after insert or delete or update of body_markdown
  on comments for each row execute function knowledge_of_conclusion();--> statement-breakpoint
create trigger work_products_knowledge after insert or delete or update of title, summary, type
  on work_products for each row execute function knowledge_of_conclusion();--> statement-breakpoint
-- What is there already is cut into chunks by the schedulers, a company after the other.
insert into knowledge_sources (source_type, source_id, company_id, issue_id)
  select 'note', id, company_id, null from notes where deleted_at is null and archived_at is null
  union all
  select 'document', d.id, d.company_id, d.issue_id from documents d join issues i on i.id = d.issue_id where i.deleted_at is null
  union all
  select 'attachment', f.id, f.company_id, f.issue_id from attachments f
    join attachment_texts t on t.attachment_id = f.id and t.status = 'done'
    join issues i on i.id = f.issue_id where i.deleted_at is null
  union all
  select 'issue', id, company_id, id from issues where status in ('done', 'cancelled') and deleted_at is null;
