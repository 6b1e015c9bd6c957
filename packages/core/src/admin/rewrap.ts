/** Rotation of the encryption key (decisions 1): data keys are rewrapped, values stay unchanged. */
import { schema, type Tx } from '@acp/db';
import type { Vault } from '@acp/kernel';
import { and, asc, eq, gt, isNotNull } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';

const {
  a2a_delegations,
  a2a_peers,
  invites,
  oauth_accounts,
  outgoing_messages,
  providers,
  repository_webhooks,
  routine_triggers,
  secrets,
  user_totp,
  webhooks,
} = schema;

interface SealedColumn {
  name: string;
  table: PgTable;
  id: PgColumn;
  column: PgColumn;
  /** The column's key in the table, for updates. */
  key: string;
  /** Location of a row's value, as given when it was sealed. */
  place: (id: string) => string;
}

const sealed = (name: string, table: PgTable, id: PgColumn, key: string, column: PgColumn): SealedColumn => ({
  name: `${name}.${key}`,
  table,
  id,
  column,
  key,
  place: (row_id) => `${name}/${row_id}`,
});

/** Every column with values sealed by the vault. New ones must be added here. */
export const sealedColumns: readonly SealedColumn[] = [
  sealed('secrets', secrets, secrets.id, 'sealed', secrets.sealed),
  sealed('providers', providers, providers.id, 'api_key_sealed', providers.api_key_sealed),
  sealed('providers', providers, providers.id, 'custom_headers_sealed', providers.custom_headers_sealed),
  sealed(
    'routine_triggers',
    routine_triggers,
    routine_triggers.id,
    'secret_sealed',
    routine_triggers.secret_sealed,
  ),
  sealed(
    'repository_webhooks',
    repository_webhooks,
    repository_webhooks.public_id,
    'secret_sealed',
    repository_webhooks.secret_sealed,
  ),
  sealed('a2a_peers', a2a_peers, a2a_peers.id, 'api_key_sealed', a2a_peers.api_key_sealed),
  sealed(
    'a2a_delegations',
    a2a_delegations,
    a2a_delegations.issue_id,
    'push_token_sealed',
    a2a_delegations.push_token_sealed,
  ),
  sealed('webhooks', webhooks, webhooks.id, 'secret_sealed', webhooks.secret_sealed),
  sealed('user_totp', user_totp, user_totp.user_id, 'secret_sealed', user_totp.secret_sealed),
  sealed('invites', invites, invites.id, 'token_sealed', invites.token_sealed),
  sealed(
    'outgoing_messages',
    outgoing_messages,
    outgoing_messages.id,
    'body_sealed',
    outgoing_messages.body_sealed,
  ),
  sealed('oauth_accounts', oauth_accounts, oauth_accounts.id, 'tokens_sealed', oauth_accounts.tokens_sealed),
];

interface RewrappedBatch {
  /** Start of the next batch; null if there is none. */
  after: string | null;
  rewrapped: number;
  /** Rows that no configured key can open: they stay unchanged. */
  unreadable: string[];
}

/** Rewraps one batch of a column in the order of ids; locks its rows. @throws unavailable without a current key */
export async function rewrapBatch(
  tx: Tx,
  vault: Vault,
  { table, id, column, key, place }: SealedColumn,
  after: string | null,
  limit: number,
): Promise<RewrappedBatch> {
  const rows = await tx
    .select({ id, value: column })
    .from(table)
    .where(and(isNotNull(column), after === null ? undefined : gt(id, after)))
    .orderBy(asc(id))
    .limit(limit)
    .for('update');
  const unreadable: string[] = [];
  let rewrapped = 0;
  for (const row of rows as { id: string; value: string }[]) {
    const again = rewrapOne(vault, row.value, place(row.id));
    if (again === undefined) unreadable.push(row.id);
    if (again === undefined || again === row.value) continue;
    rewrapped += 1;
    // One statement per row: values differ, and rotations are rare.
    await tx
      .update(table)
      .set({ [key]: again })
      .where(eq(id, row.id));
  }
  const last = rows.length === limit ? (rows.at(-1) as { id: string }).id : null;
  return { after: last, rewrapped, unreadable };
}

function rewrapOne(vault: Vault, value: string, place: string): string | undefined {
  const [, fingerprint = ''] = value.split('.');
  return vault.opens(fingerprint) ? vault.rewrap(value, place) : undefined;
}
