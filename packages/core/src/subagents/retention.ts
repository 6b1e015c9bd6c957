import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { purgeAgent } from '../agents/index.ts';
import { clearIssueReference } from '../issues/index.ts';
import { purgeOldTrash } from '../trash/index.ts';

/** The agent `a` is over: no one has revived it since. */
const isOver = sql`(a.status = 'terminated' or a.deleted_at is not null)`;

/**
 * Permanently removes one sub-agent that ended at least this many days ago, with its runs, keys, files and session. What it
 * wrote and what it cost is kept. @returns false if there is none left
 */
export async function purgeExpiredSubagent(tx: Tx, days: number): Promise<boolean> {
  const { rows } = await tx.execute<{ agent_id: string }>(sql`
    select s.agent_id from subagents s join agents a on a.id = s.agent_id
    where s.ended_at < now() - make_interval(days => ${days}) and ${isOver}
      and not exists (select from agents below where below.parent_agent_id = s.agent_id)
    order by s.ended_at limit 1 for update of s skip locked`);
  const [outlived] = rows;
  if (outlived === undefined) return false;
  const gone = await purgeAgent(tx, outlived.agent_id);
  await clearIssueReference(tx, 'assignee_agent_id', gone);
  await purgeOldTrash(tx, gone);
  return true;
}

/** A home folder on a scheduler's machine that is no longer in use. */
export interface ExpiredHome extends Record<string, unknown> {
  agent_id: string;
  company_id: string;
  company_home_dir: string | null;
}

/** How long a sub-agent's folders can be inspected after its end. */
const HOME_KEPT_DAYS = 1;

/**
 * Homes of sub-agents that ended at least a day ago, ordered by ID; each scheduler removes those on its machine.
 * @param after null: from the start
 */
export async function expiredHomes(tx: Tx, after: string | null, limit: number): Promise<ExpiredHome[]> {
  const { rows } = await tx.execute<ExpiredHome>(sql`
    select s.agent_id, s.company_id, c.home_dir as company_home_dir
    from subagents s join agents a on a.id = s.agent_id join companies c on c.id = s.company_id
    where s.ended_at < now() - make_interval(days => ${HOME_KEPT_DAYS}) and a.home_dir is null and ${isOver}
      and (${after}::uuid is null or s.agent_id > ${after}::uuid)
    order by s.agent_id limit ${limit}`);
  return rows;
}
