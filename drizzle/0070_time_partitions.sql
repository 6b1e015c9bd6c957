-- `activity` and `cost_events` in partitions by quarters, so that what was decided to be forgotten goes by dropping a table
-- (docs/adr/0040-partitions.md).
-- The partitions of a table, the oldest first. Null: it begins, or ends, nowhere.
create or replace function time_partitions(of_table regclass) returns table (part text, begins timestamptz, ends timestamptz)
language sql stable as $$
  select relname::text,
    (regexp_match(bound, 'FROM \(''([^'']+)''\)'))[1]::timestamptz,
    (regexp_match(bound, 'TO \(''([^'']+)''\)'))[1]::timestamptz
  from (
    select c.relname, pg_get_expr(c.relpartbound, c.oid) as bound
    from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = of_table
  ) p order by 2 nulls first
$$;
--> statement-breakpoint
-- The first beginning of a quarter of a year after the instant.
create or replace function next_quarter(after timestamptz) returns timestamptz
language sql immutable as $$
  select date_trunc('quarter', after at time zone 'UTC' + interval '3 months') at time zone 'UTC'
$$;
--> statement-breakpoint
-- A partition that takes all from the instant on. What the whole has no key for is unique within each.
create or replace function begin_time_partition(whole text, begins timestamptz) returns void
language plpgsql volatile as $$
declare
  part text := whole || to_char(begins at time zone 'UTC', '_YYYYMMDD');
begin
  execute format('create table %I partition of %I for values from (%L) to (maxvalue)', part, whole, begins);
  execute format('alter table %I add primary key (id)', part);
end
$$;
--> statement-breakpoint
-- Ends the last partition at the next quarter and begins one behind it. As long as nothing has come into it nothing is read.
create or replace function end_time_partition(whole text) returns void
language plpgsql volatile as $$
declare
  last record;
  until timestamptz;
begin
  execute format('lock table %I in access exclusive mode', whole);
  select * into last from time_partitions(whole::regclass) where ends is null;
  until := next_quarter(greatest(last.begins, now()));
  execute format('alter table %I detach partition %I', whole, last.part);
  execute format('alter table %I attach partition %I for values from (%L) to (%L)', whole, last.part, last.begins, until);
  perform begin_time_partition(whole, until);
end
$$;
--> statement-breakpoint
-- Makes the plain table the first partition of a new one. Where it has rows, a valid constraint `<table>_ends` has to say that they are
-- older than the instant: then nothing is read, and everybody is stopped for a moment only.
create or replace function partition_by_time(whole text, key text, until timestamptz) returns void
language plpgsql volatile as $$
declare
  first text := whole || '_first';
  each record;
begin
  execute format('lock table %I in access exclusive mode', whole);
  if (select relkind = 'p' from pg_class where oid = whole::regclass) then
    return;
  end if;
  execute format('alter table %I rename to %I', whole, first);
  for each in
    select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid where i.indrelid = first::regclass
  loop
    execute format('alter index %I rename to %I', each.name, replace(each.name, whole, first));
  end loop;
  execute format('create table %I (like %I including defaults) partition by range (%I)', whole, first, key);
  for each in
    select pg_get_indexdef(indexrelid) as made_by from pg_index where indrelid = first::regclass and not indisprimary
  loop
    execute replace(each.made_by, first, whole);
  end loop;
  execute format('alter table %I attach partition %I for values from (minvalue) to (%L)', whole, first, until);
  execute format('alter table %I drop constraint if exists %I', first, whole || '_ends');
  perform begin_time_partition(whole, until);
end
$$;
--> statement-breakpoint
-- A new instance has nothing to wait for. In others a scheduler does it, once all rows have been looked through.
do $$
begin
  if not exists (select from users) then
    perform partition_by_time('activity', 'created_at', next_quarter(now() + interval '3 months'));
    perform partition_by_time('cost_events', 'occurred_at', next_quarter(now() + interval '3 months'));
  end if;
end
$$;
