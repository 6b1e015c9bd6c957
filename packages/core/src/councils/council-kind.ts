import { schema, type Tx } from '@acp/db';
import { cutText, storableText, stated } from '@acp/kernel';
import { enqueue, enqueueMany } from '@acp/queue';
import { and, eq, inArray, sql } from 'drizzle-orm';
import { releaseHolds } from '../budgets/index.ts';
import { eachAlone, type EndedRun, type KindChanges, type RunKind, type RunRow } from '../runs/index.ts';
import { keepsAnswer, readBallot, shuffledFor } from './labels.ts';
import { leaveOut } from './leave-out.ts';
import { COUNCIL_TURN } from './turn-proposal.ts';

const { council_sessions, council_turns } = schema;

// Limit in bytes.
const SAID = 50_000;

/** A participant's turn: an answer, a ranking, or the conclusion. */
export const councilTurnKind: RunKind = {
  name: COUNCIL_TURN,
  subject: { type: 'council_session', table: 'council_sessions' },
  liveKey: ({ subject_id, agent_id }) => (subject_id === null ? null : `council:${subject_id}:${agent_id}`),
  audience: ({ subject_id }) => ({
    topic: subject_id === null ? null : `council:${subject_id}`,
    admins_only: false,
  }),
  retries: true,
  begin: eachAlone(async (tx, run) =>
    (await isAsked(tx, run))
      ? { changes: [] }
      : { refused: { message: stated('the council has ended'), category: 'conflict' } },
  ),
  end: endTurn,
  cancelQueued: cancelTurns,
  retry: async (tx, { run }, admit) => {
    const again = await admit(null);
    if (again === undefined) return false;
    await tx.update(council_turns).set({ run_id: again.id }).where(asked(run.id));
    return true;
  },
};

const asked = (run_id: string) => and(eq(council_turns.run_id, run_id), eq(council_turns.status, 'asked'));

async function isAsked(tx: Tx, run: RunRow): Promise<boolean> {
  const rows = await tx
    .select({ id: council_sessions.id })
    .from(council_turns)
    .innerJoin(council_sessions, eq(council_sessions.id, council_turns.session_id))
    .where(and(asked(run.id), eq(council_sessions.status, 'running')));
  return rows.length > 0;
}

/** Stores what was said, or why nothing was. The council advances in a separate transaction. */
async function endTurn(tx: Tx, { run, subject, result, retried }: EndedRun): Promise<KindChanges> {
  if (subject === null || retried) return { changes: [] };
  const text =
    run.status === 'succeeded' && result.text !== null ? cutText(storableText(result.text), SAID).trim() : '';
  if (text === '') {
    const cancelled = run.status === 'cancelled' ? 'its turn was cancelled' : 'it said nothing';
    await leaveOut(tx, [run.id], run.error ?? cancelled);
  } else await keepTurn(tx, run, text);
  await enqueue(tx, 'advance-council', { session_id: String(subject.id) });
  return { changes: [] };
}

async function keepTurn(tx: Tx, run: RunRow, text: string): Promise<void> {
  const [turn] = await tx.select().from(council_turns).where(asked(run.id));
  if (turn === undefined) return;
  const said = await tx
    .select()
    .from(council_turns)
    .where(
      and(
        eq(council_turns.session_id, turn.session_id),
        eq(council_turns.kind, 'answer'),
        eq(council_turns.status, 'done'),
      ),
    );
  const own = said
    .filter(({ agent_id, round }) => agent_id === turn.agent_id && round < turn.round)
    .toSorted((a, b) => b.round - a.round)[0];
  const before = own?.body_markdown ?? null;
  const kept = turn.kind === 'answer' && keepsAnswer(text, before);
  await tx
    .update(council_turns)
    .set({
      status: 'done',
      body_markdown: kept ? before : text,
      is_revised: !kept,
      ranking: turn.kind === 'ranking' ? readBallot(text, othersOf(turn, said)) : null,
      finished_at: sql`clock_timestamp()`,
    })
    .where(asked(run.id));
}

/** In the order in which the reader saw them; the prompt's facts use the same one. */
function othersOf(
  { session_id, round, agent_id: reader_id }: { session_id: string; round: number; agent_id: string },
  said: readonly { agent_id: string }[],
): string[] {
  const others = new Set(said.map(({ agent_id }) => agent_id).filter((id) => id !== reader_id));
  return shuffledFor({ session_id, round, reader_id }, [...others]);
}

/** Handles runs cancelled before they started. */
async function cancelTurns(tx: Tx, runs: readonly RunRow[]): Promise<void> {
  const run_ids = runs.map(({ id }) => id);
  for (const [why, of] of Map.groupBy(runs, ({ error }) => error ?? 'its turn was cancelled'))
    await leaveOut(
      tx,
      of.map(({ id }) => id),
      why,
    );
  await releaseHolds(tx, run_ids);
  const sessions = await tx
    .selectDistinct({ session_id: council_turns.session_id })
    .from(council_turns)
    .where(inArray(council_turns.run_id, run_ids));
  await enqueueMany(tx, 'advance-council', sessions);
}
