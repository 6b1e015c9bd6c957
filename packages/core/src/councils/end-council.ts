import type { Actor } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { eq, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { releaseHolds } from '../budgets/index.ts';
import { cancelRuns } from '../runs/index.ts';
import { councilChange, type CouncilRow, readParts } from './read-councils.ts';
import { COUNCIL_TURN } from './turn-proposal.ts';

const { council_sessions } = schema;

/** The only way a council ends; requires its row locked. Cancels turns in progress and releases what was reserved. */
export async function endCouncil(
  tx: Tx,
  actor: Actor,
  session: CouncilRow,
  end: { status: 'completed'; conclusion: string } | { status: 'failed'; error: string },
): Promise<void> {
  const [row] = await tx
    .update(council_sessions)
    .set({ ...end, finished_at: sql`clock_timestamp()` })
    .where(eq(council_sessions.id, session.id))
    .returning();
  // Lock order: runs before budget windows.
  const which = sql`r.subject_id = ${session.id} and r.kind = ${COUNCIL_TURN}`;
  const calledOff = await cancelRuns(tx, which, 'the council has ended');
  const { rows: unused } = await tx.execute<{ run_id: string }>(sql`
    update council_turns set status = 'skipped' where session_id = ${session.id} and status = 'planned' returning run_id`);
  await releaseHolds(
    tx,
    unused.map(({ run_id }) => run_id),
  );
  const { participants } = await readParts(tx, [session]);
  const ended = councilChange(row!, participants, `council.${end.status}`);
  await recordChanges(tx, actor, [...calledOff, ended]);
}
