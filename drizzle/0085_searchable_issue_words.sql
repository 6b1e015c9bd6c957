-- The words of a description as of every other text: PostgreSQL's parser is quadratic on runs of `a_`, `~/` or `<!--`, and one
-- description of 40 KB kept a connection busy for half a minute. Rows that exist keep their words until their text changes.
create or replace function words_of_issue() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    delete from issue_words where issue_id = old.id;
    return null;
  end if;
  insert into issue_words (issue_id, company_id, words)
  values (new.id, new.company_id, to_tsvector('simple', searchable_text(coalesce(new.body_markdown, ''))))
  on conflict (issue_id) do update set words = excluded.words;
  return null;
end $$;
