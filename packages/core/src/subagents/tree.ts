import { lockByName, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';

/**
 * Locks the tree that the agent belongs to until the end of the transaction. Must be the first lock of its
 * transaction. @returns the agent at the root, which is not a sub-agent
 */
export async function lockTree(tx: Tx, agent_id: string): Promise<string> {
  const { rows } = await tx.execute<{ root: string }>(sql`
    select coalesce((select ancestor_ids[1] from agents where id = ${agent_id}),
      (select root_agent_id from subagents where parent_agent_id = ${agent_id} limit 1), ${agent_id}::uuid) as root`);
  const { root } = rows[0]!;
  // A separate statement: later ones then read a snapshot that is newer than the lock.
  await lockByName(tx, `subagents of ${root}`);
  return root;
}
