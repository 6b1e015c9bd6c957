CREATE TABLE "cost_days" (
	"company_id" uuid NOT NULL,
	"day" date NOT NULL,
	"agent_id" uuid,
	"project_id" uuid,
	"model" text NOT NULL,
	"cost_usd" numeric(24, 8) NOT NULL,
	"estimated_usd" numeric(24, 8) NOT NULL,
	"input_tokens" bigint NOT NULL,
	"output_tokens" bigint NOT NULL,
	"runs" integer NOT NULL,
	"merged" boolean DEFAULT false NOT NULL
);
--> statement-breakpoint
CREATE TABLE "day_totals" (
	"name" text PRIMARY KEY NOT NULL,
	"complete_from" date NOT NULL
);
--> statement-breakpoint
CREATE TABLE "run_days" (
	"company_id" uuid NOT NULL,
	"day" date NOT NULL,
	"runs" integer NOT NULL,
	"succeeded" integer NOT NULL,
	"failed" integer NOT NULL,
	"merged" boolean DEFAULT false NOT NULL
);
--> statement-breakpoint
CREATE INDEX "cost_days_company" ON "cost_days" USING btree ("company_id","day","agent_id");--> statement-breakpoint
CREATE INDEX "cost_days_agent" ON "cost_days" USING btree ("agent_id","day");--> statement-breakpoint
CREATE INDEX "cost_days_unmerged" ON "cost_days" USING btree ("company_id","day") WHERE not "cost_days"."merged";--> statement-breakpoint
CREATE INDEX "cost_days_day" ON "cost_days" USING brin ("day");--> statement-breakpoint
CREATE INDEX "run_days_company" ON "run_days" USING btree ("company_id","day");--> statement-breakpoint
CREATE INDEX "run_days_unmerged" ON "run_days" USING btree ("company_id","day") WHERE not "run_days"."merged";--> statement-breakpoint
CREATE INDEX "run_days_day" ON "run_days" USING brin ("day");--> statement-breakpoint
create or replace function add_to_cost_days() returns trigger language plpgsql as $$
begin
  insert into cost_days (company_id, day, agent_id, project_id, model, cost_usd, estimated_usd, input_tokens, output_tokens, runs)
  values (new.company_id, (new.occurred_at at time zone 'UTC')::date, new.agent_id, new.project_id, new.model, new.cost_usd,
    case when new.price_estimated then new.cost_usd else 0 end, new.input_tokens, new.output_tokens, (new.run_id is not null)::int);
  return null;
end $$;
--> statement-breakpoint
create or replace function add_to_run_days() returns trigger language plpgsql as $$
begin
  insert into run_days (company_id, day, runs, succeeded, failed)
  values (new.company_id, (new.created_at at time zone 'UTC')::date, 1, (new.status = 'succeeded')::int, (new.status = 'failed')::int);
  return null;
end $$;
--> statement-breakpoint
create trigger cost_events_days after insert on cost_events for each row execute function add_to_cost_days();
--> statement-breakpoint
create trigger heartbeat_runs_days_inserted after insert on heartbeat_runs for each row
when (new.status not in ('queued', 'running')) execute function add_to_run_days();
--> statement-breakpoint
create trigger heartbeat_runs_days after update of status on heartbeat_runs for each row
when (old.status in ('queued', 'running') and new.status not in ('queued', 'running')) execute function add_to_run_days();
--> statement-breakpoint
-- Until now nothing was added, and today's totals lack what came before: a scheduler completes them once the day is over.
insert into day_totals (name, complete_from)
select name, case when has_rows then (clock_timestamp() at time zone 'UTC')::date + 1 else '-infinity'::date end
from (values ('cost_days', exists (select from cost_events)), ('run_days', exists (select from heartbeat_runs))) as t (name, has_rows);
--> statement-breakpoint
-- As before, and the table's triggers become the partitioned table's.
create or replace function partition_by_time(whole text, key text, until timestamptz) returns void
language plpgsql volatile as $$
declare
  first text := whole || '_first';
  triggers text[];
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
  for each in
    select tgname as name, pg_get_triggerdef(oid) as made_by from pg_trigger where tgrelid = first::regclass and not tgisinternal
  loop
    triggers := triggers || replace(each.made_by, first, whole);
    execute format('drop trigger %I on %I', each.name, first);
  end loop;
  execute format('alter table %I attach partition %I for values from (minvalue) to (%L)', whole, first, until);
  execute format('alter table %I drop constraint if exists %I', first, whole || '_ends');
  perform begin_time_partition(whole, until);
  for each in select unnest(triggers) as made_by loop
    execute each.made_by;
  end loop;
end
$$;
