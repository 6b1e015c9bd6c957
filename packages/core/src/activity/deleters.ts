import { schema, type Tx } from '@acp/db';
import { and, desc, inArray, like } from 'drizzle-orm';

const { activity } = schema;

/** The names of those who deleted these entities last, as the audit trail has them, by entity. */
export async function deletersOf(
  tx: Tx,
  entity_ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (entity_ids.length === 0) return new Map();
  const rows = await tx
    .selectDistinctOn([activity.entity_id], { id: activity.entity_id, name: activity.actor_name })
    .from(activity)
    .where(and(inArray(activity.entity_id, [...entity_ids]), like(activity.action, '%.deleted')))
    .orderBy(activity.entity_id, desc(activity.created_at));
  return new Map(rows.map(({ id, name }) => [id, name]));
}
