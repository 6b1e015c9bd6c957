-- The lock of those who merge: nobody does meanwhile, and nobody else waits for it.
select pg_advisory_xact_lock(7236125406);
--> statement-breakpoint
delete from cost_day_sums;
--> statement-breakpoint
insert into cost_day_sums (company_id, dimension, day, key, cost_usd, estimated_usd, input_tokens, output_tokens, runs)
select company_id, case when grouping(agent_id) = 0 then 'agent' when grouping(project_id) = 0 then 'project' else 'model' end, day,
  coalesce(agent_id::text, project_id::text, model, ''), sum(cost_usd), sum(estimated_usd), sum(input_tokens), sum(output_tokens), sum(runs)
from cost_days where merged
group by grouping sets ((company_id, day, agent_id), (company_id, day, project_id), (company_id, day, model));
