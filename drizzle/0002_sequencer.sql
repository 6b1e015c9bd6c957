INSERT INTO "event_sequence" ("only_row", "last") VALUES (true, 0);
--> statement-breakpoint
-- Gives every visible outbox row the next number and tells the listeners, in one short transaction of its own.
-- The advisory lock comes first: each statement of a volatile function has a fresh snapshot, so the statement that
-- moves the rows sees all that the holder before it committed. Order is total, without gaps.
-- Returns the count of rows moved; a caller that gets max_rows calls again.
CREATE FUNCTION sequence_outbox(max_rows integer) RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  first_free bigint;
  moved integer;
BEGIN
  PERFORM pg_advisory_xact_lock(7306357456);
  SELECT "last" + 1 INTO first_free FROM event_sequence WHERE only_row;
  WITH taken AS (
    DELETE FROM outbox WHERE id IN (SELECT o.id FROM outbox o ORDER BY o.id LIMIT max_rows)
    RETURNING *
  )
  INSERT INTO events (seq, id, company_id, type, data, occurred_at)
  SELECT first_free - 1 + row_number() OVER (ORDER BY t.id), t.event_id, t.company_id, t.type, t.data, t.occurred_at
  FROM taken t;
  GET DIAGNOSTICS moved = ROW_COUNT;
  IF moved > 0 THEN
    UPDATE event_sequence SET "last" = first_free - 1 + moved WHERE only_row;
    PERFORM pg_notify('service_events', format('["%s-%s"]', first_free, first_free - 1 + moved));
  END IF;
  RETURN moved;
END;
$$;
