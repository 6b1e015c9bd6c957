import type { Actor, Issue } from '@acp/contract';
import { terminalIssueStatuses, type Tx } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';
import { presentIssue } from './present.ts';
import { readerOf } from './read-marks.ts';
import { isSnoozed } from './snoozes.ts';
import { notTrashed, readIssues, shownIssue } from './rows.ts';

/** Whether agents went in circles on the open issue `i`, or its last run failed: nothing goes on by itself. */
const isStuck: SQL = sql`(i.needs_human_attention or (i.run_failed and i.status not in ${terminalIssueStatuses}))`;

/** Whether the issue `i` needs a human; the predicate of `issues_company_asking`. */
export const waitsForPerson: SQL = sql`(i.awaiting_input or ${isStuck})`;

/** The company's issues that need a human, except those the reader snoozed, last changed first. */
export async function issuesAskingFor(
  tx: Tx,
  actor: Actor,
  company_id: string,
  what: 'input' | 'attention',
  limit: number,
): Promise<Issue[]> {
  const asks = what === 'input' ? sql`i.awaiting_input` : isStuck;
  const rows = await readIssues(
    tx,
    sql`select ${shownIssue} from issues i
        where i.company_id = ${company_id} and ${waitsForPerson} and ${asks} and ${notTrashed('i')}
          and not ${isSnoozed(readerOf(actor))}
        order by i.updated_at desc nulls last, i.id desc nulls last limit ${limit}`,
  );
  return rows.map(presentIssue);
}
