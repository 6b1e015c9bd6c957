import type { SQL } from 'drizzle-orm';
import { sql } from 'drizzle-orm';
import { ancestorsOf, projectOfRun } from './run-scopes.ts';

export interface RunCost {
  /** The provider's family or label. */
  provider: string;
  model: string;
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  /** USD as decimal text, from `priceOf`. */
  cost_usd: string;
  /** At least part of it was computed with the built-in price. */
  price_estimated: boolean;
}

/**
 * The insertion of a run's cost event, as part of the statement that ends the run: recorded exactly when the run ends, without a
 * statement of its own. `run` names a relation in that statement with the columns `id`, `company_id`, `agent_id`, `issue_id`;
 * if it is empty, nothing is recorded.
 */
export function insertRunCost(run: string, cost: RunCost): SQL {
  return sql`
    insert into cost_events (company_id, agent_id, rolled_up_to, run_id, issue_id, project_id, provider, model,
      input_tokens, output_tokens, cached_tokens, cost_usd, price_estimated)
    select r.company_id, r.agent_id, ${ancestorsOf(sql`r.agent_id`)}, r.id, r.issue_id, ${projectOfRun('r')},
      ${cost.provider}, ${cost.model}, ${cost.input_tokens}::int, ${cost.output_tokens}::int, ${cost.cached_tokens}::int,
      ${cost.cost_usd}::numeric, ${cost.price_estimated}::boolean
    from ${sql.identifier(run)} r`;
}
