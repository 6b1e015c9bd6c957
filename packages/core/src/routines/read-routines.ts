import { commaList, type ListByStatus, type Routine, routineStatuses } from '@acp/contract';
import { byCreation, containing, newestFirst, type Page, schema, type Tx } from '@acp/db';
import { isUuid, oneNamed } from '@acp/kernel';
import { and, eq, inArray, isNull, sql } from 'drizzle-orm';
import { ofLiveCompany } from '../companies/index.ts';
import { presentRoutine } from './present.ts';
import { type RoutineRow, routineColumns } from './rows.ts';

const { companies, routines } = schema;

/** Loads a routine for its scope; also undefined for trashed routines and those of trashed companies. */
export async function findRoutine(tx: Tx, id: string): Promise<RoutineRow | undefined> {
  if (!isUuid(id)) return undefined;
  const [row] = await tx
    .select(routineColumns)
    .from(routines)
    .innerJoin(companies, ofLiveCompany(routines.company_id))
    .where(and(eq(routines.id, id), isNull(routines.deleted_at)));
  return row;
}

/**
 * Finds a routine of the company by id or, ignoring case, by a unique name.
 * @throws notFound, conflict if several have the name
 */
export async function routineNamed(tx: Tx, company_id: string, word: string): Promise<RoutineRow> {
  const named = isUuid(word) ? eq(routines.id, word) : sql`lower(${routines.name}) = lower(${word})`;
  const found = await tx
    .select(routineColumns)
    .from(routines)
    .where(and(eq(routines.company_id, company_id), isNull(routines.deleted_at), named))
    .limit(10);
  return oneNamed('routine', word, found, ({ name }) => name);
}

/** A page of the company's routines, newest first. @throws invalid for an unknown status */
export async function listRoutines(tx: Tx, company_id: string, query: ListByStatus): Promise<Page<Routine>> {
  const statuses = commaList(query.status, routineStatuses, 'status');
  const page = newestFirst(routines.created_at, routines.id, query, 50);
  const rows = tx
    .select(routineColumns)
    .from(routines)
    .where(
      and(
        eq(routines.company_id, company_id),
        isNull(routines.deleted_at),
        statuses === undefined ? undefined : inArray(routines.status, statuses),
        containing(query.q, [routines.name, routines.description]),
        page.where,
      ),
    )
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, byCreation, presentRoutine);
}
