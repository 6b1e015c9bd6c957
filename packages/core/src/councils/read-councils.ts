import type {
  AgentRole,
  CouncilSession,
  CouncilStatus,
  CouncilSummary,
  CouncilTurn,
  CouncilTurnKind,
} from '@acp/contract';
import { byCreation, newestFirst, type Page, type PageRequest, schema, type Tx } from '@acp/db';
import { isUuid } from '@acp/kernel';
import { and, asc, eq, getTableColumns, inArray, sql } from 'drizzle-orm';
import type { Change } from '../activity/index.ts';
import { findIssue, type IssueRow } from '../issues/index.ts';
import { tally } from './labels.ts';

const { council_participants, council_sessions, council_turns } = schema;

export type CouncilRow = typeof council_sessions.$inferSelect;
export type ParticipantRow = typeof council_participants.$inferSelect;
type TurnRow = typeof council_turns.$inferSelect;

/** Used by the scope loader: a council whose issue is in the trash counts as absent. */
export async function findCouncil(tx: Tx, id: string): Promise<CouncilRow | undefined> {
  if (!isUuid(id)) return undefined;
  const [row] = await tx.select().from(council_sessions).where(eq(council_sessions.id, id));
  return row && (await findIssue(tx, row.issue_id)) ? row : undefined;
}

/** Maximum characters of a text in lists of councils. */
const OUTLINED = 1000;

/** Newest first; turns and conclusions are truncated. */
export async function listCouncils(
  tx: Tx,
  issue: Pick<IssueRow, 'id'>,
  query: PageRequest,
): Promise<Page<CouncilSession>> {
  const page = newestFirst(council_sessions.created_at, council_sessions.id, query, 50);
  const rows = await tx
    .select()
    .from(council_sessions)
    .where(and(eq(council_sessions.issue_id, issue.id), page.where))
    .orderBy(...page.order)
    .limit(page.limit);
  const parts = await readParts(tx, rows, OUTLINED);
  return page.cut(rows, byCreation, (row) =>
    present({ ...row, conclusion: row.conclusion?.slice(0, OUTLINED).toWellFormed() ?? null }, parts),
  );
}

export async function presentCouncil(tx: Tx, row: CouncilRow): Promise<CouncilSession> {
  return present(row, await readParts(tx, [row]));
}

interface Parts {
  participants: ParticipantRow[];
  turns: TurnRow[];
}

/**
 * Participants by their place in the reporting tree, turns by round.
 * @param longest maximum characters of each text
 */
export async function readParts(
  tx: Tx,
  sessions: readonly Pick<CouncilRow, 'id'>[],
  longest = 1_000_000,
): Promise<Parts> {
  const ids = sessions.map(({ id }) => id);
  if (ids.length === 0) return { participants: [], turns: [] };
  const participants = await tx
    .select()
    .from(council_participants)
    .where(inArray(council_participants.session_id, ids))
    .orderBy(asc(council_participants.place));
  const turns = await tx
    .select({
      ...getTableColumns(council_turns),
      body_markdown: sql<string | null>`left(${council_turns.body_markdown}, ${longest})`,
    })
    .from(council_turns)
    .where(inArray(council_turns.session_id, ids))
    .orderBy(asc(council_turns.round), asc(council_turns.finished_at), asc(council_turns.agent_id));
  return { participants, turns };
}

/** The runs of the turns in progress, by agent. */
export async function turnsInProgress(
  tx: Tx,
  { id, status }: Pick<CouncilRow, 'id' | 'status'>,
): Promise<ReadonlyMap<string, string>> {
  if (status !== 'running') return new Map();
  const { agent_id, run_id, session_id, status: of_turn } = council_turns;
  const asked = await tx
    .select({ agent_id, run_id })
    .from(council_turns)
    .where(and(eq(session_id, id), eq(of_turn, 'asked')));
  return new Map(asked.map((turn) => [turn.agent_id, turn.run_id]));
}

function summarizeCouncil(row: CouncilRow, participants: readonly ParticipantRow[]): CouncilSummary {
  const own = participants.filter(({ session_id }) => session_id === row.id);
  const chair = own.find(({ left_out_reason: reason }) => reason === null);
  return {
    id: row.id,
    company_id: row.company_id,
    issue_id: row.issue_id,
    question: row.question,
    status: row.status as CouncilStatus,
    rounds: row.rounds,
    phase: row.phase as CouncilTurnKind,
    round: row.round,
    participants: own.map(({ agent_id, name, role, left_out_reason }) => ({
      agent_id,
      name,
      role: role as AgentRole,
      is_chair: agent_id === chair?.agent_id,
      left_out_reason,
    })),
    error: row.error,
    convened_by_agent_id: row.convened_by_agent_id,
    convened_by_user_id: row.convened_by_user_id,
    created_at: row.created_at,
    finished_at: row.finished_at,
  };
}

function present(row: CouncilRow, { participants, turns }: Parts): CouncilSession {
  const own = turns.filter(({ session_id, status }) => session_id === row.id && status === 'done');
  return {
    ...summarizeCouncil(row, participants),
    turns: own.map(presentTurn),
    ranking: rankingOf(own),
    conclusion: row.conclusion,
  };
}

function presentTurn(turn: TurnRow): CouncilTurn {
  return {
    agent_id: turn.agent_id,
    round: turn.round,
    kind: turn.kind as CouncilTurnKind,
    body_markdown: turn.body_markdown ?? '',
    is_revised: turn.is_revised,
    ranking: turn.ranking,
    run_id: turn.run_id,
    finished_at: turn.finished_at ?? new Date(0),
  };
}

/** Ranks the agents that answered by the valid ballots; null without any. */
export function rankingOf(
  turns: readonly Pick<TurnRow, 'agent_id' | 'kind' | 'status' | 'ranking'>[],
): string[] | null {
  const done = turns.filter(({ status }) => status === 'done');
  const ballots = done.flatMap(({ kind, agent_id: voter, ranking }) =>
    kind === 'ranking' && ranking !== null ? [{ voter, ranking }] : [],
  );
  if (ballots.length === 0) return null;
  const answered = done.filter(({ kind }) => kind === 'answer').map(({ agent_id }) => agent_id);
  return tally(ballots, [...new Set(answered)]);
}

export function councilChange(
  row: CouncilRow,
  participants: readonly ParticipantRow[],
  action?: string,
): Change {
  const { company_id, id: entity_id, issue_id, status } = row;
  return {
    company_id,
    entity_type: 'council_session',
    entity_id,
    ...(action === undefined ? {} : { action, details: { issue_id, status } }),
    event: { type: 'council_updated', data: summarizeCouncil(row, participants) },
  };
}
