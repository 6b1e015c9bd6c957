import type { Actor, BoardUserKey, CompanyRole, NewBoardUserKey } from '@acp/contract';
import {
  byCreation,
  containing,
  inOrder,
  newestFirst,
  type Page,
  schema,
  type SearchRequest,
  signal,
  type Tx,
} from '@acp/db';
import { newApiKey, notFound, sha256Hex } from '@acp/kernel';
import { and, eq, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';
import { answerableUser, type Leaving, type LeftCredential, rowsLostBy } from './answerable.ts';
import { findInLiveCompany } from './find-in-company.ts';
import { keyExpiry } from './key-lifetime.ts';

const { board_user_keys } = schema;

type BoardUserKeyRow = typeof board_user_keys.$inferSelect;

/** Key metadata: neither the hash nor the key. */
function present(row: BoardUserKeyRow): BoardUserKey {
  return {
    id: row.id,
    company_id: row.company_id,
    role: row.role as CompanyRole,
    key_prefix: row.key_prefix,
    label: row.label,
    created_by_user_id: row.created_by_user_id,
    created_at: row.created_at,
    last_used_at: row.last_used_at,
    expires_at: row.expires_at,
  };
}

/** Creates a key for an integration, tied to one company and role. `raw_key` is shown only once. */
export async function mintBoardUserKey(
  tx: Tx,
  actor: Actor,
  company_id: string,
  input: { role: CompanyRole; label?: string | null; expires_in_days?: number | null },
): Promise<NewBoardUserKey> {
  const created_by_user_id = await answerableUser(tx, actor, company_id, 'admin');
  await assertRoom(tx, 'board_user_keys', company_id);
  const raw_key = newApiKey();
  const [row] = await tx
    .insert(board_user_keys)
    .values({
      company_id,
      role: input.role,
      label: input.label ?? null,
      key_hash: sha256Hex(raw_key),
      key_prefix: raw_key.slice(0, 8),
      expires_at: keyExpiry(actor, input.expires_in_days),
      created_by_user_id,
    })
    .returning();
  const { id } = row!;
  const details = { role: input.role, label: input.label ?? null };
  await recordChanges(tx, actor, [
    { company_id, action: 'board_user_key.created', entity_type: 'board_user_key', entity_id: id, details },
  ]);
  return { ...present(row!), raw_key };
}

export async function findBoardUserKey(tx: Tx, id: string): Promise<BoardUserKeyRow | undefined> {
  return findInLiveCompany(tx, board_user_keys, id);
}

/** Newest first. @param unasked page size without a limit (decisions 3); null: all */
export async function listBoardUserKeys(
  tx: Tx,
  company_id: string,
  page: SearchRequest,
  unasked: number | null = 50,
): Promise<Page<BoardUserKey>> {
  const plan = newestFirst(board_user_keys.created_at, board_user_keys.id, page, unasked);
  const rows = tx
    .select()
    .from(board_user_keys)
    .where(
      and(
        eq(board_user_keys.company_id, company_id),
        containing(page.q, [board_user_keys.label, board_user_keys.key_prefix]),
        plan.where,
      ),
    )
    .orderBy(...plan.order)
    .limit(plan.limit);
  return plan.read(tx, rows, byCreation, present);
}

/** Revokes a key immediately in every process. @throws notFound, also for another company's key. */
export async function deleteBoardUserKey(
  tx: Tx,
  actor: Actor,
  company_id: string,
  id: string,
): Promise<void> {
  const mine = and(eq(board_user_keys.id, id), eq(board_user_keys.company_id, company_id));
  const deleted = await tx.delete(board_user_keys).where(mine).returning({ id: board_user_keys.id });
  if (deleted.length === 0) throw notFound();
  signal(tx, 'credentials', id);
  await recordChanges(tx, actor, [
    { company_id, action: 'board_user_key.deleted', entity_type: 'board_user_key', entity_id: id },
  ]);
}

/** Revokes all keys of a deleted company for good, in every process. */
export async function revokeBoardUserKeys(tx: Tx, company_id: string): Promise<void> {
  const revoked = await tx
    .delete(board_user_keys)
    .where(inOrder(board_user_keys, eq(board_user_keys.company_id, company_id)))
    .returning({ id: board_user_keys.id });
  for (const { id } of revoked) signal(tx, 'credentials', id);
}

/** Ends the keys of someone who may no longer mint them, in every process, or hands them over. */
export async function settleBoardUserKeysOf(tx: Tx, leaving: Leaving): Promise<LeftCredential[]> {
  const theirs = inOrder(board_user_keys, rowsLostBy(leaving, board_user_keys, 'admin'));
  const left =
    leaving.heir === undefined
      ? await tx.delete(board_user_keys).where(theirs).returning()
      : await tx.update(board_user_keys).set({ created_by_user_id: leaving.heir }).where(theirs).returning();
  if (leaving.heir === undefined) for (const { id } of left) signal(tx, 'credentials', id);
  return left.map(({ id, company_id, label, key_prefix }) => ({
    kind: 'board_user_key',
    id,
    company_id,
    label: label ?? key_prefix,
  }));
}

/** Updates `last_used_at` in batches, off the request path. Ids of other kinds of keys are ignored. */
export async function markBoardUserKeysUsed(tx: Tx, ids: readonly string[]): Promise<void> {
  const among = sql`${board_user_keys.id} = any(${sql.param([...ids])}::uuid[])`;
  await tx
    .update(board_user_keys)
    .set({ last_used_at: sql`now()` })
    .where(inOrder(board_user_keys, among, 'no key update'));
}
