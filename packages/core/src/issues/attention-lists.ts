import type { Actor, IssueSummary } from '@acp/contract';
import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { summarizeIssue } from './present.ts';
import { readerOf } from './read-marks.ts';
import { isSnoozed } from './snoozes.ts';
import { notTrashed, selectIssues, shownIssue } from './rows.ts';

/** The company's issues that need a human, except those the reader snoozed, last changed first; by `issues_company_attention`. */
export async function issuesAskingFor(
  tx: Tx,
  actor: Actor,
  company_id: string,
  what: 'input' | 'attention',
  limit: number,
): Promise<IssueSummary[]> {
  const asks = what === 'input' ? sql`i.awaiting_input` : sql`i.needs_human_attention`;
  const rows = await selectIssues(
    tx,
    sql`select ${shownIssue} from issues i
        where i.company_id = ${company_id} and (i.awaiting_input or i.needs_human_attention) and ${asks} and ${notTrashed('i')}
          and not ${isSnoozed(readerOf(actor))}
        order by i.updated_at desc nulls last, i.id desc nulls last limit ${limit}`,
  );
  return rows.map(summarizeIssue);
}
