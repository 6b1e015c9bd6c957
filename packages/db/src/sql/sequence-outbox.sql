-- Moves up to max_rows visible outbox rows to events, assigns the next numbers, and notifies listeners of the range.
-- Returns the number of rows moved; if that is max_rows, call it again.
-- The order is total and gapless: one instance-wide lock, taken BEFORE the moving statement, which as a separate statement
-- in a volatile function sees everything committed by the time the lock was granted. The lock is released after the commit
-- is visible. Rows of one transaction keep their order, because ids ascend within it.
create or replace function sequence_outbox(max_rows int) returns int
language plpgsql volatile as $$
declare
  first_seq bigint;
  moved int;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'sequence_outbox needs read committed: an older snapshot would number rows out of order';
  end if;
  -- Nothing visible: no lock, no write. Whoever commits later calls it too. By the index, which forgets the rows that are gone:
  -- `exists` ignores the order, and would read every page that they once filled.
  if (select o.id from outbox o order by o.id limit 1) is null then
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
