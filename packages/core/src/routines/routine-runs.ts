import type { IssueStatus, RoutineRun, Run } from '@acp/contract';
import {
  byCreation,
  newestFirst,
  type Page,
  type PageRequest,
  schema,
  terminalIssueStatuses,
  type Tx,
} from '@acp/db';
import { and, eq, sql } from 'drizzle-orm';
import { notTrashed } from '../issues/index.ts';
import { shownColumns } from '../trash/index.ts';
import { presentRoutineRun } from './present.ts';
import type { RoutineRow } from './rows.ts';

const { routine_runs } = schema;

/** Maximum length in characters of JSON. A page of two hundred complete webhook bodies could be 200 MB. */
const LONGEST_PAYLOAD = 32_768;

/** Newest first; for a large payload, the beginning of its JSON as text. */
export async function listRoutineRuns(
  tx: Tx,
  routine: RoutineRow,
  query: PageRequest,
): Promise<Page<RoutineRun>> {
  const page = newestFirst(routine_runs.created_at, routine_runs.id, query, 50);
  const { payload } = routine_runs;
  const rows = tx
    .select({
      ...shownColumns(routine_runs),
      payload: sql`case when length(${payload}::text) > ${LONGEST_PAYLOAD}
        then to_jsonb(left(${payload}::text, ${LONGEST_PAYLOAD})) else ${payload} end`.as('payload'),
    })
    .from(routine_runs)
    .where(and(eq(routine_runs.routine_id, routine.id), page.where))
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, byCreation, presentRoutineRun);
}

export interface IssueOfRun {
  id: string;
  identifier: string;
  title: string;
  status: IssueStatus;
  /** The latest visible run of an agent on it. */
  run: Pick<Run, 'id' | 'status'> | null;
}

/** The issues that runs created or commented on, by id; without trashed ones. */
export async function issuesOfRuns(
  tx: Tx,
  company_id: string,
  runs: readonly Pick<RoutineRun, 'issue_id'>[],
): Promise<ReadonlyMap<string, IssueOfRun>> {
  const ids = [...new Set(runs.flatMap(({ issue_id }) => issue_id ?? []))];
  if (ids.length === 0) return new Map();
  const { rows } = await tx.execute<IssueOfRun & Record<string, unknown>>(sql`
    select i.id, i.identifier, i.title, i.status, (
        select jsonb_build_object('id', r.id, 'status', r.status) from heartbeat_runs r
        join agents a on a.id = r.agent_id and a.deleted_at is null
        where r.issue_id = i.id order by r.created_at desc, r.id desc limit 1) as run
    from issues i
    where i.company_id = ${company_id} and ${notTrashed('i')}
      and i.id in (select jsonb_array_elements_text(${JSON.stringify(ids)}::jsonb)::uuid)`);
  return new Map(rows.map((issue) => [issue.id, issue]));
}

/**
 * Retention, one batch. Runs whose issue is still open are kept, since concurrency policies depend on them.
 * @returns how many were deleted
 */
export async function deleteRoutineRunsBefore(tx: Tx, days: number, limit: number): Promise<number> {
  const result = await tx.execute(sql`
    delete from routine_runs where id in (
      select r.id from routine_runs r
      left join issues i on i.id = r.issue_id and i.deleted_at is null and i.status not in ${terminalIssueStatuses}
      where r.created_at < now() - make_interval(days => ${days}) and i.id is null
      order by r.created_at limit ${limit})`);
  return result.rowCount ?? 0;
}
