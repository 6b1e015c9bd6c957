-- `run_events` in partitions by the part that its run began in, so that transcripts which have outlived their days go by dropping a
-- table (docs/adr/0040-partitions.md).
CREATE TABLE "transcript_parts" (
	"part" integer PRIMARY KEY NOT NULL,
	"began_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "heartbeat_runs" ADD COLUMN "transcript_part" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "run_events" ADD COLUMN "part" integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
insert into transcript_parts (part) values (0);
--> statement-breakpoint
create or replace function are_run_events_partitioned() returns boolean
language sql stable as $$
  select relkind = 'p' from pg_class where oid = 'run_events'::regclass
$$;
--> statement-breakpoint
-- Gives each part that has none its partition, and lets runs begin in the last one. The table is made first and attached afterwards:
-- that stops neither readers nor writers of the others.
create or replace function make_transcript_parts() returns void
language plpgsql volatile as $$
declare
  each int;
  name text;
begin
  if not are_run_events_partitioned() then
    return;
  end if;
  for each in select part from transcript_parts where to_regclass('run_events_' || part) is null order by part loop
    name := 'run_events_' || each;
    execute format('create table %I (like run_events including defaults)', name);
    execute format('alter table %I add primary key (run_id, seq)', name);
    execute format('alter table run_events attach partition %I for values in (%s)', name, each);
  end loop;
  execute format(
    'alter table heartbeat_runs alter column transcript_part set default %s',
    (select max(part) from transcript_parts));
end
$$;
--> statement-breakpoint
-- Makes the plain table the first partition of a new `run_events`. Where it has rows, a valid constraint has to say that they are of
-- part 0: then nothing is read, and everybody is stopped for a moment only.
create or replace function partition_run_events() returns void
language plpgsql volatile as $$
begin
  lock table heartbeat_runs, run_events in access exclusive mode;
  if are_run_events_partitioned() then
    return;
  end if;
  alter table run_events rename to run_events_0;
  alter table run_events_0 rename constraint run_events_run_id_seq_pk to run_events_0_pkey;
  create table run_events (like run_events_0 including defaults) partition by list (part);
  alter table run_events add constraint run_events_run_id_heartbeat_runs_id_fk
    foreign key (run_id) references heartbeat_runs (id) on delete cascade;
  alter table run_events attach partition run_events_0 for values in (0);
  alter table run_events_0 drop constraint if exists run_events_part;
  insert into transcript_parts (part) values (1);
  perform make_transcript_parts();
end
$$;
--> statement-breakpoint
-- A new instance has nothing to wait for. In others a scheduler does it a day later: what the release before writes would find no place.
do $$
begin
  if not exists (select from users) then
    perform partition_run_events();
  end if;
end
$$;
