import type { AgentRole, AgentStatus, IssueStatus, Subagent, SubagentOutcome } from '@acp/contract';
import type { Tx } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';
import { notTrashed } from '../issues/index.ts';

const MOST = 200;

interface ListedRow extends Record<string, unknown> {
  agent_id: string;
  company_id: string;
  parent_agent_id: string;
  parent_issue_id: string;
  issue_id: string;
  name: string;
  role: AgentRole;
  depth: number;
  status: AgentStatus;
  agent_in_trash: boolean;
  issue_in_trash: boolean;
  issue_identifier: string;
  issue_title: string;
  issue_status: IssueStatus;
  awaits_subagents: boolean;
  outcome: SubagentOutcome | null;
  result_markdown: string | null;
  cost_usd: number;
  created_at: string;
  ended_at: string | null;
}

/** All sub-agents below an agent or an issue, on every level, each after its parent; read in one statement. */
export async function listSubagents(
  tx: Tx,
  of: { agent_id: string } | { issue_id: string },
): Promise<Subagent[]> {
  const first: SQL =
    'agent_id' in of ? sql`s.parent_agent_id = ${of.agent_id}` : sql`s.parent_issue_id = ${of.issue_id}`;
  const { rows } = await tx.execute<ListedRow>(sql`
    with recursive tree as (
      select s.agent_id from subagents s where ${first}
      union
      select s.agent_id from tree join subagents s on s.parent_agent_id = tree.agent_id
    )
    select s.agent_id, s.company_id, s.parent_agent_id, s.parent_issue_id, s.issue_id, a.name, a.role,
      a.subagent_depth as depth, a.status, a.deleted_at is not null as agent_in_trash,
      not (${notTrashed('i')}) as issue_in_trash, i.identifier as issue_identifier, i.title as issue_title,
      i.status as issue_status, exists (select from subagent_waits w where w.issue_id = s.issue_id) as awaits_subagents,
      s.outcome, s.result as result_markdown, s.created_at, s.ended_at,
      (select coalesce(sum(r.cost_usd), 0)::float8 from heartbeat_runs r where r.agent_id = s.agent_id) as cost_usd
    from tree join subagents s using (agent_id) join agents a on a.id = s.agent_id join issues i on i.id = s.issue_id
    order by s.created_at desc, s.agent_id limit ${MOST}`);
  return inTreeOrder(rows).map(({ created_at, ended_at, ...row }) => ({
    ...row,
    created_at: new Date(created_at),
    ended_at: ended_at === null ? null : new Date(ended_at),
  }));
}

/** Each after its parent, oldest first; one whose parent is beyond the limit is listed on the first level. */
function inTreeOrder(newestFirst: readonly ListedRow[]): ListedRow[] {
  const known = new Set(newestFirst.map(({ agent_id }) => agent_id));
  const children = Map.groupBy(newestFirst.toReversed(), ({ parent_agent_id: parent }) =>
    known.has(parent) ? parent : null,
  );
  const walk = (parent: string | null): ListedRow[] =>
    (children.get(parent) ?? []).flatMap((row) => [row, ...walk(row.agent_id)]);
  return walk(null);
}
