import { type CouncilTurnKind, terminalStatuses } from '@acp/contract';
import { liveRunStatuses, schema, type Tx } from '@acp/db';
import { inWords, newId, stated } from '@acp/kernel';
import { and, eq, sql } from 'drizzle-orm';
import { recordChanges, systemActor } from '../activity/index.ts';
import { releaseHolds } from '../budgets/index.ts';
import { findIssue, type IssueRow } from '../issues/index.ts';
import { admitRuns, agentFactColumns, type AgentFacts, agentPresent } from '../runs/index.ts';
import { concludeCouncil } from './conclude-council.ts';
import { endCouncil } from './end-council.ts';
import { leaveOut } from './leave-out.ts';
import { nextStep, type PlannedTurn } from './next-step.ts';
import { councilChange, type CouncilRow, readParts } from './read-councils.ts';
import { turnProposal } from './turn-proposal.ts';

const { council_sessions, council_turns } = schema;
const scheduler = systemActor('scheduler');

/** More than any council needs: exceeding it is a defect. */
const MOST_STEPS = 60;

/**
 * Advances a council as far as its rows allow: the job `advance-council`, run at the beginning and after each turn. Idempotent:
 * a turn that was requested is not requested again.
 */
export async function advanceCouncil(tx: Tx, session_id: string): Promise<void> {
  const [session] = await tx
    .select()
    .from(council_sessions)
    .where(and(eq(council_sessions.id, session_id), eq(council_sessions.status, 'running')))
    .for('no key update');
  if (session === undefined) return;
  const issue = await findIssue(tx, session.issue_id);
  if (issue === undefined || terminalStatuses.some((status) => status === issue.status)) {
    const error = `the issue is ${issue?.status ?? 'gone'}`;
    return endCouncil(tx, scheduler, session, { status: 'failed', error });
  }
  await failLostTurns(tx, session);
  let now = session;
  for (let steps = 0; steps < MOST_STEPS; steps += 1) {
    const next = await step(tx, now, issue);
    if (next === undefined) return;
    now = next;
  }
  throw new Error(`council ${session_id} does not advance`);
}

/** Takes one step. @returns the updated session; undefined if it waits for a turn, or is over */
async function step(tx: Tx, session: CouncilRow, issue: IssueRow): Promise<CouncilRow | undefined> {
  const { participants, turns } = await readParts(tx, [session]);
  const phase = session.phase as CouncilTurnKind;
  const next = nextStep({
    rounds: session.rounds,
    phase,
    round: session.round,
    participants,
    turns: turns.map((turn) => ({ ...turn, kind: turn.kind as CouncilTurnKind })),
  });
  switch (next.what) {
    case 'wait':
      await recordChanges(tx, scheduler, [councilChange(session, participants)]);
      return undefined;
    case 'ask':
      return (await ask(tx, session, next.turns)) ? session : undefined;
    case 'go on':
      return goOn(tx, session, next);
    case 'appoint':
      await appoint(tx, session, next.agent_id);
      return session;
    case 'conclude':
      await concludeCouncil(tx, session, issue, next.turn);
      return undefined;
    case 'fail':
      await endCouncil(tx, scheduler, session, { status: 'failed', error: next.error });
      return undefined;
  }
}

/**
 * Proposes the runs of these turns, at most ten. Agents that are not admitted are left out.
 * @returns false if a run of the same participant is still live: its end advances the council again
 */
async function ask(tx: Tx, session: CouncilRow, turns: readonly PlannedTurn[]): Promise<boolean> {
  const agents = await factsOf(tx, turns);
  let blocked = false;
  for (const { agent_id, run_id } of turns) {
    const agent = agents.get(agent_id);
    const { admitted, refused } =
      agent === undefined
        ? { admitted: [], refused: [{ reason: stated('the agent is gone') }] }
        : await admitRuns(tx, scheduler, agent, [turnProposal(session, agent, run_id)]);
    const [refusal] = refused;
    if (refusal !== undefined) {
      await leaveOut(tx, [run_id], inWords(refusal.reason));
      await releaseHolds(tx, [run_id]);
    } else if (admitted.length > 0)
      await tx.update(council_turns).set({ status: 'asked' }).where(eq(council_turns.run_id, run_id));
    else blocked = true;
  }
  return !blocked;
}

async function factsOf(tx: Tx, turns: readonly PlannedTurn[]): Promise<Map<string, AgentFacts>> {
  const ids = JSON.stringify(turns.map(({ agent_id }) => agent_id));
  const { rows } = await tx.execute<{ [K in keyof AgentFacts]: AgentFacts[K] }>(sql`
    select ${agentFactColumns} from agents a
    where a.id in (select value::uuid from jsonb_array_elements_text(${ids}::jsonb)) and ${agentPresent}`);
  return new Map(rows.map((agent) => [agent.id, agent]));
}

/** Moves to the next phase; planned turns of earlier rounds are skipped and their reservations released. */
async function goOn(
  tx: Tx,
  session: CouncilRow,
  { phase, round }: { phase: CouncilTurnKind; round: number },
): Promise<CouncilRow> {
  const skipped = await tx
    .update(council_turns)
    .set({ status: 'skipped' })
    .where(
      and(
        eq(council_turns.session_id, session.id),
        eq(council_turns.status, 'planned'),
        sql`${council_turns.round} < ${round}`,
      ),
    )
    .returning({ run_id: council_turns.run_id });
  await releaseHolds(
    tx,
    skipped.map(({ run_id }) => run_id),
  );
  const [row] = await tx
    .update(council_sessions)
    .set({ phase, round })
    .where(eq(council_sessions.id, session.id))
    .returning();
  return row!;
}

/** The new chair's cost is only reserved when its call starts: the previous chair's reservation ended with that turn. */
async function appoint(tx: Tx, session: CouncilRow, agent_id: string): Promise<void> {
  const { id: session_id, company_id, round } = session;
  await tx
    .insert(council_turns)
    .values({ session_id, company_id, agent_id, kind: 'conclusion', round, run_id: newId() });
}

/** Fails turns whose run disappeared without ending, because its agent was purged. */
async function failLostTurns(tx: Tx, { id }: CouncilRow): Promise<void> {
  const { rows } = await tx.execute<{ run_id: string }>(sql`
    select t.run_id from council_turns t
    where t.session_id = ${id} and t.status = 'asked'
      and not exists (select from heartbeat_runs r where r.id = t.run_id and r.status in ${liveRunStatuses})`);
  if (rows.length === 0) return;
  const run_ids = rows.map(({ run_id }) => run_id);
  await leaveOut(tx, run_ids, 'its turn is gone');
  await releaseHolds(tx, run_ids);
}
