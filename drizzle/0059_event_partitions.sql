-- `events` in partitions by number, so that what has outlived its days goes by dropping a table instead of deleting row by row
-- (docs/adr/0040-partitions.md). Each partition ends at a multiple of 100,000, and is made by whoever numbers the first event
-- behind the end of the last one: no timer has to come in time.

-- Where the last partition ends; null while `events` is a plain table.
create or replace function events_end() returns bigint
language sql stable as $$
  select max(substring(pg_get_expr(c.relpartbound, c.oid) from 'TO \(''(\d+)''\)')::bigint)
  from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'events'::regclass
$$;
--> statement-breakpoint
-- Sees to it that number `up_to` has a place. A new partition is as wide as what came in the last day, and as an eighth of all
-- that is kept, so that there are few of them however busy the instance is and however long it keeps events. The table is made
-- first and attached afterwards: that stops neither readers nor writers of the others.
create or replace function make_room_for_events(up_to bigint) returns void
language plpgsql volatile as $$
declare
  step constant bigint := 100000;
  begins bigint := events_end();
  oldest bigint;
  yesterday bigint;
  ends bigint;
  name text;
begin
  if begins is null or up_to < begins then
    return;
  end if;
  select e.seq into oldest from events e order by e.seq limit 1;
  select e.seq into yesterday from events e where e.occurred_at > now() - interval '1 day' order by e.occurred_at, e.seq limit 1;
  ends := greatest(
    up_to + 1,
    begins + coalesce(greatest(begins - yesterday, (begins - oldest) / 8), 0));
  ends := (ends + step - 1) / step * step;
  name := 'events_' || begins;
  execute format('create table %I (like events including all)', name);
  execute format('alter table events attach partition %I for values from (%s) to (%s)', name, begins, ends);
end
$$;
--> statement-breakpoint
-- As before, but for the room that is made.
create or replace function sequence_outbox(max_rows int) returns int
language plpgsql volatile as $$
declare
  first_seq bigint;
  moved int;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'sequence_outbox needs read committed: an older snapshot would number rows out of order';
  end if;
  -- Nothing visible: no lock, no write. Whoever commits later calls it too.
  if not exists (select 1 from outbox order by id limit 1) then
    return 0;
  end if;
  perform pg_advisory_xact_lock(7236125401);
  select last + 1 into strict first_seq from event_sequence;
  -- A partition can only end at such a number.
  if (first_seq + max_rows) / 100000 > (first_seq - 1) / 100000 then
    perform make_room_for_events(first_seq + max_rows);
  end if;
  with taken as (
    delete from outbox
    where id = any (array(select o.id from outbox o order by o.id limit max_rows))
    returning id, event_id, company_id, type, data, occurred_at
  ), numbered as (
    insert into events (seq, id, company_id, type, data, occurred_at)
    select first_seq - 1 + row_number() over (order by t.id),
           t.event_id, t.company_id, t.type, t.data, t.occurred_at
    from taken t
    returning 1
  )
  select count(*) into moved from numbered;
  if moved > 0 then
    update event_sequence set last = last + moved;
    perform pg_notify('service_events', format('["%s-%s"]', first_seq, first_seq + moved - 1));
  end if;
  return moved;
end
$$;
--> statement-breakpoint
-- Makes the plain table the first partition of a new `events`, up to `ends`. Where it has rows, a valid constraint has to say that
-- they lie below: then nothing is read, and everybody is stopped for a moment only.
create or replace function partition_events(ends bigint) returns void
language plpgsql volatile as $$
begin
  lock table events in access exclusive mode;
  if events_end() is not null then
    return;
  end if;
  alter table events rename to events_0;
  alter table events_0 rename constraint events_pkey to events_0_pkey;
  alter index events_occurred_at rename to events_0_occurred_at;
  create table events (like events_0 including defaults) partition by range (seq);
  alter table events add constraint events_pkey primary key (seq);
  create index events_occurred_at on events (occurred_at);
  execute format('alter table events attach partition events_0 for values from (minvalue) to (%s)', ends);
  alter table events_0 drop constraint if exists events_end;
end
$$;
--> statement-breakpoint
-- A new instance has nothing to wait for. In one with events a scheduler does it, once the release runs.
do $$
begin
  if not exists (select from events) then
    perform partition_events(100000);
  end if;
end
$$;
