import type { Actor, TrashType } from '@acp/contract';
import { takeTime, type Tx } from '@acp/db';
import { conflict, notFound } from '@acp/kernel';
import { recordInstanceAct, systemActor } from '../activity/index.ts';
import { findCompany } from '../companies/index.ts';
import { lockFreeEntry, lockTrashEntry, purgeOldTrash, type TrashRow } from '../trash/index.ts';
import { restorers } from './restorers.ts';

export interface WantedEntry {
  type: string;
  entity_id: string;
  trash_id: string;
}

/** Restores an entity. @throws notFound, conflict (decisions 7.6) */
export async function restoreFromTrash(
  tx: Tx,
  actor: Actor,
  wanted: WantedEntry,
): Promise<{ status: 'restored' }> {
  const entry = await lockTrashEntry(tx, wanted);
  if (!entry) throw notFound();
  if (entry.type !== 'company' && !(await findCompany(tx, entry.company_id)))
    throw conflict('its company is in the trash');
  await restorerOf(entry).restore(tx, actor, entry.entity_id);
  await purgeOldTrash(tx, [entry.entity_id]);
  return { status: 'restored' };
}

/** Permanently deletes an entity and everything below it, however long it takes. @throws notFound */
export async function purgeFromTrash(tx: Tx, actor: Actor, wanted: WantedEntry): Promise<void> {
  const entry = await lockTrashEntry(tx, wanted);
  if (!entry) throw notFound();
  await purge(tx, actor, entry);
}

/**
 * Retention: purges the entry found by `findExpiredEntry`, unless someone else is doing so. One entry per transaction.
 * @returns false if someone else is purging it
 */
export async function purgeExpired(tx: Tx, trash_id: string): Promise<boolean> {
  const entry = await lockFreeEntry(tx, trash_id);
  if (!entry) return false;
  await purge(tx, systemActor('retention'), entry);
  return true;
}

/** A large company takes minutes: as long as it needs, since no one uses it any more. */
async function purge(tx: Tx, actor: Actor, entry: TrashRow): Promise<void> {
  await takeTime(tx);
  const gone = await restorerOf(entry).purge(tx, entry.entity_id);
  // The entity may already have been deleted along with its parent.
  await purgeOldTrash(tx, [entry.entity_id, ...gone]);
  const { type, entity_id, company_id, name } = entry;
  await recordInstanceAct(tx, actor, 'trash.purged', { type, entity_id, company_id, name });
}

const restorerOf = (entry: TrashRow) => restorers[entry.type as TrashType];
