import { schema, type Tx } from '@acp/db';
import { notFound } from '@acp/kernel';
import { eq, sql } from 'drizzle-orm';
import type { Change } from '../activity/index.ts';
import type { TriggerRow } from './rows.ts';

const { routine_triggers } = schema;

/** Location of a secret, for the vault: sealed for one trigger, it can't be opened in another. */
export const secretPlace = (id: string) => `routine_triggers/${id}`;

type Columns = Parameters<ReturnType<Tx['update']>['set']>[0];

/**
 * The trigger as it is now, locked: the row that a request found may be outdated. Whoever is to answer for it is locked before
 * (`answerableUser`), and its routine after it. @throws notFound
 */
export async function lockTrigger(tx: Tx, { id }: Pick<TriggerRow, 'id'>): Promise<TriggerRow> {
  const [row] = await tx
    .select()
    .from(routine_triggers)
    .where(eq(routine_triggers.id, id))
    .for('no key update');
  if (!row) throw notFound();
  return row;
}

/** @param trigger locked */
export async function changeTrigger(tx: Tx, trigger: TriggerRow, set: Columns): Promise<TriggerRow> {
  const [row] = await tx
    .update(routine_triggers)
    .set({ ...set, updated_at: sql`now()` })
    .where(eq(routine_triggers.id, trigger.id))
    .returning();
  return row!;
}

/** Contains no public id, since that is all one needs to fire. */
export function changeOfTrigger(
  row: TriggerRow,
  action: string,
  details: Record<string, unknown> = {},
): Change {
  return {
    company_id: row.company_id,
    action,
    entity_type: 'routine_trigger',
    entity_id: row.id,
    details: { routine_id: row.routine_id, kind: row.kind, label: row.label, ...details },
  };
}
