import type { Actor } from '@acp/contract';
import { type Tx, schema } from '@acp/db';
import { sql } from 'drizzle-orm';
import { actorId, actorType } from './actor-columns.ts';

/** Records an act of instance administration, which belongs to no company, in the instance's audit trail. */
export async function recordInstanceAct(
  tx: Tx,
  actor: Actor,
  action: string,
  details: Record<string, unknown>,
): Promise<void> {
  await tx.insert(schema.instance_audit).values({
    actor_type: actorType(actor),
    actor_id: actorId(actor),
    actor_name: actor.name,
    action,
    details,
  });
}

/** Retention: the instance's audit trail is kept as long as the companies'. @returns number deleted, at most `limit` */
export async function deleteInstanceActsBefore(tx: Tx, days: number, limit: number): Promise<number> {
  const { rowCount } = await tx.execute(sql`
    delete from instance_audit where id in (
      select id from instance_audit where created_at < now() - make_interval(days => ${days})
      order by created_at, id limit ${limit})`);
  return rowCount ?? 0;
}
