import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';

/**
 * Waits for the tree that the agent belongs to and holds it to the end of the transaction. The first lock of its
 * transaction. @returns the agent at the root, which is no sub-agent
 */
export async function lockTree(tx: Tx, agent_id: string): Promise<string> {
  const { rows } = await tx.execute<{ root: string }>(sql`
    select coalesce((select ancestor_ids[1] from agents where id = ${agent_id}),
      (select root_agent_id from subagents where parent_agent_id = ${agent_id} limit 1), ${agent_id}::uuid) as root`);
  const { root } = rows[0]!;
  // A statement of its own: what follows reads a snapshot that is younger than the lock.
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`subagents of ${root}`}, 0))`);
  return root;
}
