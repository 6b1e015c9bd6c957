/** A company with more agents, projects, goals and labels than fit into a list. */
import type { Database } from '@acp/db';

/** @param from number of the first of them: `Agent 1` and so on */
export async function addNames(
  { pool }: Database,
  company_id: string,
  counts: { agents?: number; projects?: number; goals?: number; labels?: number },
  from = 1,
): Promise<void> {
  const { agents = 0, projects = 0, goals = 0, labels = 0 } = counts;
  const numbers = (count: number): [string, number, number] => [company_id, from, from + count - 1];
  await pool.query(
    `insert into agents (company_id, name, role, adapter_type, heartbeat_enabled, heartbeat_interval_sec)
      select $1, 'Agent ' || n, 'engineer', 'llm', false, 300 from generate_series($2::int, $3::int) n`,
    numbers(agents),
  );
  await pool.query(
    `insert into projects (company_id, name) select $1, 'Project ' || n from generate_series($2::int, $3::int) n`,
    numbers(projects),
  );
  await pool.query(
    `insert into goals (company_id, title) select $1, 'Goal ' || n from generate_series($2::int, $3::int) n`,
    numbers(goals),
  );
  await pool.query(
    `insert into labels (company_id, name) select $1, 'label ' || n from generate_series($2::int, $3::int) n`,
    numbers(labels),
  );
}
