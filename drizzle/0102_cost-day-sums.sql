CREATE TABLE "cost_day_sums" (
	"company_id" uuid NOT NULL,
	"dimension" text NOT NULL,
	"day" date NOT NULL,
	"key" text NOT NULL,
	"cost_usd" numeric(24, 8) NOT NULL,
	"estimated_usd" numeric(24, 8) NOT NULL,
	"input_tokens" bigint NOT NULL,
	"output_tokens" bigint NOT NULL,
	"runs" integer NOT NULL,
	CONSTRAINT "cost_day_sums_company_id_dimension_day_key_pk" PRIMARY KEY("company_id","dimension","day","key")
);
--> statement-breakpoint
CREATE INDEX "cost_day_sums_day" ON "cost_day_sums" USING brin ("day");--> statement-breakpoint
-- Only merged rows count here: readers add the others, which a cost event has just inserted, so that none waits for a sum.
create or replace function add_to_cost_day_sums() returns trigger language plpgsql as $$
begin
  if not exists (select from added where merged) then return null; end if;
  insert into cost_day_sums as s (company_id, dimension, day, key, cost_usd, estimated_usd, input_tokens, output_tokens, runs)
  select company_id, case when grouping(agent_id) = 0 then 'agent' when grouping(project_id) = 0 then 'project' else 'model' end, day,
    coalesce(agent_id::text, project_id::text, model, ''), sum(cost_usd), sum(estimated_usd), sum(input_tokens), sum(output_tokens), sum(runs)
  from added where merged
  group by grouping sets ((company_id, day, agent_id), (company_id, day, project_id), (company_id, day, model)) order by 1, 2, 3, 4
  on conflict (company_id, dimension, day, key) do update set cost_usd = s.cost_usd + excluded.cost_usd,
    estimated_usd = s.estimated_usd + excluded.estimated_usd, input_tokens = s.input_tokens + excluded.input_tokens,
    output_tokens = s.output_tokens + excluded.output_tokens, runs = s.runs + excluded.runs;
  return null;
end $$;
--> statement-breakpoint
-- An update, so that nothing is left of a company that is purged.
create or replace function take_from_cost_day_sums() returns trigger language plpgsql as $$
begin
  update cost_day_sums s set cost_usd = s.cost_usd - g.cost_usd, estimated_usd = s.estimated_usd - g.estimated_usd,
    input_tokens = s.input_tokens - g.input_tokens, output_tokens = s.output_tokens - g.output_tokens, runs = s.runs - g.runs
  from (
    select company_id, case when grouping(agent_id) = 0 then 'agent' when grouping(project_id) = 0 then 'project' else 'model' end as dimension,
      day, coalesce(agent_id::text, project_id::text, model, '') as key, sum(cost_usd) as cost_usd, sum(estimated_usd) as estimated_usd,
      sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens, sum(runs) as runs
    from gone where merged group by grouping sets ((company_id, day, agent_id), (company_id, day, project_id), (company_id, day, model))
  ) g
  where s.company_id = g.company_id and s.dimension = g.dimension and s.day = g.day and s.key = g.key;
  return null;
end $$;
--> statement-breakpoint
create trigger cost_days_added after insert on cost_days referencing new table as added
for each statement execute function add_to_cost_day_sums();
--> statement-breakpoint
create trigger cost_days_gone after delete on cost_days referencing old table as gone
for each statement execute function take_from_cost_day_sums();
