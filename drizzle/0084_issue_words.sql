CREATE TABLE "issue_words" (
	"issue_id" uuid PRIMARY KEY NOT NULL,
	"company_id" uuid NOT NULL,
	"words" "tsvector" NOT NULL
);
--> statement-breakpoint
CREATE INDEX "issue_words_text" ON "issue_words" USING gin ("company_id","words");--> statement-breakpoint
-- A description that is removed leaves an empty row: a scheduler that copies older texts at that moment must not bring it back.
create function words_of_issue() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    delete from issue_words where issue_id = old.id;
    return null;
  end if;
  insert into issue_words (issue_id, company_id, words)
  values (new.id, new.company_id, to_tsvector('simple', left(coalesce(new.body_markdown, ''), 100000)))
  on conflict (issue_id) do update set words = excluded.words;
  return null;
end $$;--> statement-breakpoint
create trigger issues_words_made after insert on issues
  for each row when (new.body_markdown <> '') execute function words_of_issue();--> statement-breakpoint
create trigger issues_words_changed after update of body_markdown on issues
  for each row when (new.body_markdown is distinct from old.body_markdown) execute function words_of_issue();--> statement-breakpoint
create trigger issues_words_gone after delete on issues
  for each row execute function words_of_issue();--> statement-breakpoint
-- The same function as before, but called only where it has something to do: for issues that are, or were, closed or in the trash.
drop trigger issues_knowledge on issues;--> statement-breakpoint
create trigger issues_knowledge_made after insert on issues
  for each row when (new.status in ('done', 'cancelled')) execute function knowledge_of_issue();--> statement-breakpoint
create trigger issues_knowledge_gone after delete on issues
  for each row execute function knowledge_of_issue();--> statement-breakpoint
create trigger issues_knowledge_changed after update of status, title, body_markdown, deleted_at on issues
  for each row when (
    old.status in ('done', 'cancelled') or new.status in ('done', 'cancelled') or old.deleted_at is distinct from new.deleted_at
  ) execute function knowledge_of_issue();--> statement-breakpoint
-- Where there are issues, a scheduler copies their words, and drops the index after the last. A restore has yet to load them.
do $$
begin
  if not exists (select from issues) and to_regclass('restoring.backup') is null then
    drop index issues_text;
  end if;
end $$;
