import type { Actor, Backup } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { conflict } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { recordInstanceAct } from '../activity/index.ts';
import { isBackupRunning, presentBackup } from './read-backups.ts';

const { backups } = schema;

/**
 * Requests a backup, which a scheduler begins at its next look.
 * @throws conflict while another one is requested or being made
 */
export async function requestBackup(tx: Tx, actor: Actor): Promise<Backup> {
  if (await isBackupRunning(tx)) throw conflict('a backup is already in progress');
  const [row] = await tx
    .insert(backups)
    .values({ status: 'queued', trigger: 'operator', claimed_by: '', started_at: sql`now()` })
    .onConflictDoNothing()
    .returning();
  if (row === undefined) throw conflict('a backup is already requested');
  await recordInstanceAct(tx, actor, 'backup.requested', { backup_id: row.id });
  return presentBackup(row);
}
