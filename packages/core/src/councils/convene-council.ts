import {
  type Actor,
  type ConveneCouncil,
  type CouncilSession,
  type CouncilTurnKind,
  DEFAULT_COUNCIL_ROUNDS,
} from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import {
  conflict,
  forbidden,
  inWords,
  newId,
  notFound,
  said,
  type Said,
  saidText,
  saidValue,
  stated,
} from '@acp/kernel';
import { and, eq, sql } from 'drizzle-orm';
import { actorColumns, assertCauseDepth, causeDepth, recordChanges } from '../activity/index.ts';
import { type Hold, reserveAhead } from '../budgets/index.ts';
import type { IssueRow } from '../issues/index.ts';
import { admissionRefusal, findRun } from '../runs/index.ts';
import { advanceCouncil } from './advance-council.ts';
import { endCouncil } from './end-council.ts';
import { LEAST_RANKED } from './next-step.ts';
import { councilChange, type CouncilRow, presentCouncil } from './read-councils.ts';
import { deliberates, type Member, selectMembers } from './select-members.ts';
import { COUNCIL_TURN, turnProposal } from './turn-proposal.ts';

const { council_participants, council_sessions, council_turns } = schema;

const QUESTION = 'What is the best way to go about this issue?';
/** Estimated USD per turn of an agent without previous turns: a long prompt and a long answer at the default price. */
const FIRST_TURN_USD = '0.16';

/**
 * Plans a council, reserves the estimated cost of all its turns, and requests the first round. Agents that may not run, or lack
 * the budget, are left out from the beginning, with the reason.
 * @throws conflict with `session_id` while one is running on the issue, without two participants, over budget; notFound
 * for an agent of another company; forbidden for a turn of a council
 */
export async function conveneCouncil(
  tx: Tx,
  actor: Actor,
  issue: IssueRow,
  input: ConveneCouncil = {},
): Promise<CouncilSession> {
  if (['done', 'cancelled'].includes(issue.status))
    throw conflict(said`${issue.identifier} is ${saidValue(issue.status)}`);
  const depth = await depthOf(tx, actor);
  const question = input.question ?? QUESTION;
  const { agent_ids } = input;
  const rounds = input.rounds ?? DEFAULT_COUNCIL_ROUNDS;
  const session = await insertSession(tx, actor, issue, { question, rounds, depth });
  const members = await selectMembers(tx, issue, { agent_ids, question });
  const leftOut = refusals(session, members);
  const planned = await planWithinBudget(tx, session, issue, members, leftOut);
  if (members.length - leftOut.size < 2) throw conflict(tooFew(members, leftOut));
  const { company_id, id: session_id } = session;
  const participants = await tx
    .insert(council_participants)
    .values(
      members.map(({ id: agent_id, name, role }, place) => ({
        session_id,
        company_id,
        agent_id,
        place,
        name,
        role,
        left_out_reason: inWords(leftOut.get(agent_id) ?? '') || null,
      })),
    )
    .returning();
  await tx.insert(council_turns).values(planned.map((turn) => ({ ...turn, session_id, company_id })));
  await recordChanges(tx, actor, [councilChange(session, participants, 'council.convened')]);
  await advanceCouncil(tx, session_id);
  return presentCouncil(tx, await read(tx, session_id));
}

/** Ends it without a conclusion. @throws conflict if it is over */
export async function cancelCouncil(tx: Tx, actor: Actor, subject: CouncilRow): Promise<CouncilSession> {
  const [session] = await tx
    .select()
    .from(council_sessions)
    .where(and(eq(council_sessions.id, subject.id), eq(council_sessions.status, 'running')))
    .for('no key update');
  if (session === undefined) throw conflict('the council has ended');
  await endCouncil(tx, actor, session, { status: 'failed', error: `cancelled by ${actor.name}` });
  return presentCouncil(tx, await read(tx, session.id));
}

async function read(tx: Tx, session_id: string): Promise<CouncilRow> {
  const [row] = await tx.select().from(council_sessions).where(eq(council_sessions.id, session_id));
  if (row === undefined) throw notFound();
  return row;
}

/** Rejects turns of councils: councils that convene councils would never end. */
async function depthOf(tx: Tx, actor: Actor): Promise<number> {
  if (actor.kind !== 'agent') return 0;
  if (actor.run_id !== null && (await findRun(tx, actor.run_id))?.kind === COUNCIL_TURN)
    throw forbidden('a council’s turn cannot convene another council');
  const depth = causeDepth(actor);
  assertCauseDepth(depth);
  return depth;
}

async function insertSession(
  tx: Tx,
  actor: Actor,
  issue: IssueRow,
  of: Pick<CouncilRow, 'question' | 'rounds' | 'depth'>,
): Promise<CouncilRow> {
  const author = actorColumns(actor);
  const [session] = await tx
    .insert(council_sessions)
    .values({
      company_id: issue.company_id,
      issue_id: issue.id,
      convened_by_agent_id: author.agent_id,
      convened_by_user_id: author.user_id,
      ...of,
    })
    .onConflictDoNothing()
    .returning();
  if (session !== undefined) return session;
  const [running] = await tx
    .select({ id: council_sessions.id })
    .from(council_sessions)
    .where(and(eq(council_sessions.issue_id, issue.id), eq(council_sessions.status, 'running')));
  throw conflict('council already running', { session_id: running?.id ?? null });
}

/** The reasons, by agent, why members would not be admitted now. */
function refusals(session: CouncilRow, members: readonly Member[]): Map<string, string | Said> {
  const found = new Map<string, string | Said>();
  for (const member of members) {
    const reason = deliberates(member)
      ? admissionRefusal(member, turnProposal(session, member, newId()))
      : said`agents with the adapter ${member.adapter_type} cannot deliberate`;
    if (reason !== null) found.set(member.id, reason);
  }
  return found;
}

function tooFew(members: readonly Member[], leftOut: ReadonlyMap<string, string | Said>): Said {
  const reasons = members
    .filter(({ id }) => leftOut.has(id))
    .map(({ id, name }) => {
      const why = leftOut.get(id)!;
      return said`${name}: ${typeof why === 'string' ? saidText(why) : why}`;
    });
  const all = reasons.reduce<Said | string>(
    (before, reason) => (before === '' ? reason : said`${before}; ${reason}`),
    '',
  );
  return said`a council needs two agents: ${all}`;
}

interface Plan {
  agent_id: string;
  kind: CouncilTurnKind;
  round: number;
  run_id: string;
}

/** Plans every possible turn and reserves its cost; agents without enough budget are added to `leftOut`. */
async function planWithinBudget(
  tx: Tx,
  session: CouncilRow,
  issue: IssueRow,
  members: readonly Member[],
  leftOut: Map<string, string | Said>,
): Promise<Plan[]> {
  const prices = await estimates(tx, members);
  const { company_id } = session;
  for (;;) {
    const planned = plan(
      session.rounds,
      members.map(({ id }) => id).filter((id) => !leftOut.has(id)),
    );
    const holds = planned.map(({ run_id, agent_id }): Hold => ({
      run_id,
      agent_id,
      usd: prices.get(agent_id) ?? FIRST_TURN_USD,
    }));
    const short = await reserveAhead(tx, { company_id, project_id: issue.project_id }, holds);
    if (short.length === 0) return planned;
    for (const id of short) leftOut.set(id, stated('its budget has not so much left'));
  }
}

function plan(rounds: number, agent_ids: readonly string[]): Plan[] {
  const turn = (kind: CouncilTurnKind, round: number) => (agent_id: string) => ({
    agent_id,
    kind,
    round,
    run_id: newId(),
  });
  return [
    ...Array.from({ length: rounds }, (_, at) => agent_ids.map(turn('answer', at + 1))).flat(),
    ...(agent_ids.length < LEAST_RANKED ? [] : agent_ids.map(turn('ranking', rounds + 1))),
    ...agent_ids.slice(0, 1).map(turn('conclusion', rounds + 2)),
  ];
}

/** USD by agent: the median of its last 20 council turns. */
async function estimates(tx: Tx, members: readonly Member[]): Promise<Map<string, string>> {
  const ids = JSON.stringify(members.map(({ id }) => id));
  const { rows } = await tx.execute<{ id: string; usd: string }>(sql`
    select a.value as id, coalesce((
      select percentile_disc(0.5) within group (order by cost_usd) from (
        select r.cost_usd from council_turns t join heartbeat_runs r on r.id = t.run_id
        where t.agent_id = a.value::uuid and t.status = 'done' order by t.finished_at desc limit 20) last), ${FIRST_TURN_USD}::numeric)::text as usd
    from jsonb_array_elements_text(${ids}::jsonb) a`);
  return new Map(rows.map(({ id, usd }) => [id, usd]));
}
