import type { Actor, CreateSecret, Secret, UpdateSecret } from '@acp/contract';
import {
  byCreation,
  containing,
  isUniqueViolation,
  newestFirst,
  type Page,
  schema,
  type SearchRequest,
  type Tx,
} from '@acp/db';
import { conflict, newId, notFound, type Vault } from '@acp/kernel';
import { and, eq, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';
import { findInLiveCompany } from '../companies/index.ts';

const { secrets } = schema;

type SecretRow = typeof secrets.$inferSelect;

/** Location of a value, for the vault: sealed for one row, it can't be opened in another. */
export const secretPlace = (id: string) => `secrets/${id}`;

export async function findSecret(tx: Tx, id: string): Promise<SecretRow | undefined> {
  return findInLiveCompany(tx, secrets, id);
}

export async function listSecrets(tx: Tx, company_id: string, query: SearchRequest): Promise<Page<Secret>> {
  const page = newestFirst(secrets.created_at, secrets.id, query, 50);
  const rows = tx
    .select()
    .from(secrets)
    .where(
      and(
        eq(secrets.company_id, company_id),
        containing(query.q, [secrets.name, secrets.description]),
        page.where,
      ),
    )
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, byCreation, present);
}

/** @throws unavailable without an encryption key, conflict if the name is taken */
export async function createSecret(
  tx: Tx,
  actor: Actor,
  company_id: string,
  input: CreateSecret,
  vault: Vault,
): Promise<Secret> {
  await assertRoom(tx, 'secrets', company_id);
  const { name, description = null } = input;
  const id = newId();
  const sealed = vault.seal(input.value, secretPlace(id));
  try {
    const [row] = await tx.insert(secrets).values({ id, company_id, name, description, sealed }).returning();
    await recordChanges(tx, actor, [changeOf(row!, 'secret.created')]);
    return present(row!);
  } catch (err) {
    if (isUniqueViolation(err, 'secrets_company_name')) throw conflict('a secret already has this name');
    throw err;
  }
}

/** Setting a value creates a new version, even if it is the same. @throws unavailable without an encryption key */
export async function updateSecret(
  tx: Tx,
  actor: Actor,
  secret: SecretRow,
  input: UpdateSecret,
  vault: Vault,
): Promise<Secret> {
  const { value, description } = input;
  const renewed =
    value === undefined
      ? {}
      : { sealed: vault.seal(value, secretPlace(secret.id)), version: sql`${secrets.version} + 1` };
  const [row] = await tx
    .update(secrets)
    .set({ description, ...renewed, updated_at: sql`now()` })
    .where(eq(secrets.id, secret.id))
    .returning();
  if (!row) throw notFound();
  await recordChanges(tx, actor, [changeOf(row, 'secret.updated', { new_value: value !== undefined })]);
  return present(row);
}

/** Deletes it for good: secrets have no trash. */
export async function deleteSecret(tx: Tx, actor: Actor, secret: SecretRow): Promise<void> {
  const deleted = await tx.delete(secrets).where(eq(secrets.id, secret.id)).returning({ id: secrets.id });
  if (deleted.length === 0) throw notFound();
  await recordChanges(tx, actor, [changeOf(secret, 'secret.deleted')]);
}

/** Never contains the value, sealed or not. */
function present(row: SecretRow): Secret {
  return {
    id: row.id,
    company_id: row.company_id,
    name: row.name,
    description: row.description,
    version: row.version,
    last_used_at: row.last_used_at,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

function changeOf(row: SecretRow, action: string, details: Record<string, unknown> = {}) {
  return {
    company_id: row.company_id,
    action,
    entity_type: 'secret',
    entity_id: row.id,
    details: { name: row.name, version: row.version, ...details },
  };
}
