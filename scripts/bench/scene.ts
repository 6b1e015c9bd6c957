/** A company with agents, issues and keys, created by the test kit's plain inserts. */
import { createAgent, createCompany, createIssue, createKeyOf } from '@acp/testkit';
import type { TestDatabase } from '@acp/testkit';
import { newApiKey, sha256Hex } from '@acp/kernel';

export interface Scene {
  company_id: string;
  agent_ids: string[];
  issue_ids: string[];
  /** An agent's key. */
  agent_key: string;
  /** An integration's key: its bearer counts as a human. */
  board_key: string;
}

export async function createScene(
  { database }: Pick<TestDatabase, 'database'>,
  counts: { agents: number; issues: number; max_concurrent_runs?: number; title?: string },
): Promise<Scene> {
  const tx = database.db;
  const company = await createCompany(tx);
  const agents: Awaited<ReturnType<typeof createAgent>>[] = [];
  for (let n = 0; n < counts.agents; n += 1) {
    agents.push(await createAgent(tx, company, { max_concurrent_runs: counts.max_concurrent_runs ?? 1 }));
  }
  const issue_ids: string[] = [];
  for (let n = 0; n < counts.issues; n += 1) {
    const issue = await createIssue(tx, company, {
      title: `${counts.title ?? 'Paint'} shed ${n} behind the house`,
      body_markdown: 'The shed has lost its colour on the side of the weather. '.repeat(10),
      assignee_agent_id: agents[n % agents.length]!.id,
    });
    issue_ids.push(issue.id);
  }
  const board_key = newApiKey();
  await database.pool.query(
    `insert into board_user_keys (company_id, role, label, key_hash, key_prefix) values ($1, 'admin', 'bench', $2, $3)`,
    [company.id, sha256Hex(board_key), board_key.slice(0, 8)],
  );
  const { raw_key } = await createKeyOf(tx, agents[0]!);
  return {
    company_id: company.id,
    agent_ids: agents.map(({ id }) => id),
    issue_ids,
    agent_key: raw_key,
    board_key,
  };
}
