import type { Actor } from '@acp/contract';
import { type Tx, schema } from '@acp/db';
import { actorId } from './actor-columns.ts';

/** Records an act of instance administration, which belongs to no company, in the instance's audit trail. */
export async function recordInstanceAct(
  tx: Tx,
  actor: Actor,
  action: string,
  details: Record<string, unknown>,
): Promise<void> {
  await tx.insert(schema.instance_audit).values({
    actor_type: actor.kind,
    actor_id: actorId(actor),
    actor_name: actor.name,
    action,
    details,
  });
}
