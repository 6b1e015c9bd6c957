import { type Actor, type Run, type RunEvent, runStatuses } from '@acp/contract';
import {
  instantText,
  newestFirst,
  type Page,
  type PageRequest,
  readWithinBytes,
  schema,
  type Tx,
} from '@acp/db';
import { invalid, isUuid, said } from '@acp/kernel';
import { and, asc, eq, gt, inArray, isNull, type SQL, sql } from 'drizzle-orm';
import { ofLiveCompany } from '../companies/index.ts';
import { shownColumns } from '../trash/index.ts';
import { presentRun } from './present.ts';
import type { RunRow } from './types.ts';

const { agents, companies, heartbeat_runs, run_events } = schema;

/** Without an issue that is in the trash. */
const shownRun = shownColumns(heartbeat_runs);

/** Of a command past its deadline, whose process may have died over it: its handler was told to stop long ago. */
const COMMAND_GRACE = sql`interval '30 seconds'`;

/**
 * Runs and awaited commands by id: whether each has ended. An id missing from the answer belongs to another instance or to a
 * run that has been deleted since.
 */
export async function whetherEnded(tx: Tx, ids: readonly string[]): Promise<Map<string, boolean>> {
  const asked = ids.filter(isUuid);
  if (asked.length === 0) return new Map();
  const { rows } = await tx.execute<{ id: string; ended: boolean }>(sql`
    with asked as (select value::uuid as id from jsonb_array_elements_text(${JSON.stringify(asked)}::jsonb))
    select id, finished_at is not null as ended from heartbeat_runs join asked using (id)
    union all
    select id, finished_at is not null or deadline < now() - ${COMMAND_GRACE} from commands join asked using (id)`);
  return new Map(rows.map(({ id, ended }) => [id, ended]));
}

/** Those of the given runs that have ended. */
export async function endedAmong(tx: Tx, ids: readonly string[]): Promise<string[]> {
  const found = await whetherEnded(tx, ids);
  return [...found].filter(([, ended]) => ended).map(([id]) => id);
}

/** Undefined if absent, or if its agent or company is in the trash. */
export async function findRun(tx: Tx, id: string): Promise<RunRow | undefined> {
  if (!isUuid(id)) return undefined;
  const [row] = await tx
    .select(shownRun)
    .from(heartbeat_runs)
    .innerJoin(companies, ofLiveCompany(heartbeat_runs.company_id))
    .innerJoin(agents, and(eq(agents.id, heartbeat_runs.agent_id), isNull(agents.deleted_at)))
    .where(eq(heartbeat_runs.id, id));
  return row;
}

interface RunFilter extends PageRequest {
  agentId?: string;
  issueId?: string;
  /** Comma-separated list. */
  status?: string;
}

/** Newest first, without those of deleted agents. @throws invalid for an unknown status or an invalid cursor */
export async function listRuns(
  tx: Tx,
  reader: Actor,
  company_id: string,
  filter: RunFilter,
): Promise<Page<Run>> {
  const statuses = filter.status?.split(',').map((status) => status.trim());
  const unknown = statuses?.find((status) => !runStatuses.some((known) => known === status));
  if (unknown !== undefined) throw invalid(said`unknown status: ${unknown}`);
  const page = newestFirst(heartbeat_runs.created_at, heartbeat_runs.id, filter, 50);
  const rows = tx
    .select(shownRun)
    .from(heartbeat_runs)
    .where(
      and(
        eq(heartbeat_runs.company_id, company_id),
        sql`exists (select from ${agents} a where a.id = ${heartbeat_runs.agent_id} and a.deleted_at is null)`,
        filter.agentId === undefined ? undefined : eq(heartbeat_runs.agent_id, filter.agentId),
        filter.issueId === undefined ? undefined : eq(heartbeat_runs.issue_id, filter.issueId),
        statuses === undefined ? undefined : inArray(heartbeat_runs.status, statuses),
        page.where,
      ),
    )
    .orderBy(...page.order)
    .limit(page.limit);
  const place = ({ created_at, id }: RunRow) => ({ at: created_at, id });
  return page.read(tx, rows, place, (row) => presentRun(row, reader));
}

// Transcripts are long. The payload is written once, for its size and for its reader; an instant becomes JSON, never a Date.
const entryFields = {
  seq: run_events.seq,
  kind: run_events.kind,
  payload: sql`${run_events.payload}::text`
    .mapWith((text: string): RunEvent['payload'] => JSON.parse(text) as RunEvent['payload'])
    .as('payload'),
  created_at: sql`${run_events.created_at}`.mapWith(instantText).as('created_at'),
};

/**
 * The transcript after `after`, ascending: 200 entries by default, at most 1000, and fewer if they exceed 4 MB: reading on
 * after the last one returns the rest. Nothing of a run that is private to another user.
 */
export async function listRunEvents(
  tx: Tx,
  reader: Actor,
  run_id: string,
  query: { after?: number; limit?: number } = {},
): Promise<RunEvent[]> {
  const listing = tx
    .select(entryFields)
    .from(run_events)
    .where(and(ofRun(run_id), gt(run_events.seq, query.after ?? 0), readable(reader)))
    .orderBy(asc(run_events.seq))
    .limit(Math.min(query.limit ?? 200, 1000));
  const { rows } = await readWithinBytes(tx, listing, ['payload']);
  return rows;
}

/** The entries of one run, in the only partition that contains them. */
export function ofRun(run_id: string): SQL {
  return sql`${run_events.run_id} = ${run_id} and ${run_events.part} = (select o.transcript_part from heartbeat_runs o where o.id = ${run_id})`;
}

/** `mayReadRun` for the run that the entry belongs to. */
export function readable(reader: Actor) {
  const mine =
    reader.kind === 'user'
      ? sql`r.private_to_user_id = ${reader.user_id}`
      : sql`r.id = ${reader.kind === 'agent' ? reader.run_id : null}`;
  return sql`exists (select from heartbeat_runs r where r.id = ${run_events.run_id} and (r.private_to_user_id is null or ${mine}))`;
}
