import type { KvOperation } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { conflict, invalid, storableText, tooLarge } from '@acp/kernel';
import { and, asc, eq, gt, sql } from 'drizzle-orm';

const { plugin_kv, plugins } = schema;

const MAX_BYTES = 10_000_000;
const MAX_KEYS = 10_000;
const MAX_VALUE_BYTES = 256 * 1024;
const LIST = 100;

/**
 * Performs operations of one plugin on its own values in order; rolled back as a whole if one fails.
 * @throws conflict on a version mismatch, tooLarge above the quota
 */
export async function kvOperations(
  tx: Tx,
  plugin_id: string,
  ops: readonly KvOperation[],
): Promise<Record<string, unknown>[]> {
  // Serialises transactions of a plugin, so that the quota and the comparison of versions are reliable.
  await tx.select({ id: plugins.id }).from(plugins).where(eq(plugins.id, plugin_id)).for('no key update');
  const results: Record<string, unknown>[] = [];
  for (const op of ops) results.push(await one(tx, plugin_id, op));
  if (ops.some(({ op }) => op === 'set')) await holdQuota(tx, plugin_id);
  return results;
}

async function one(tx: Tx, plugin_id: string, op: KvOperation): Promise<Record<string, unknown>> {
  if (op.op === 'list') return list(tx, plugin_id, op);
  const at = and(eq(plugin_kv.plugin_id, plugin_id), eq(plugin_kv.key, op.key));
  const [found] = await tx.select().from(plugin_kv).where(at);
  const version = found?.version ?? 0;
  if (op.op === 'get') return { value: found?.value ?? null, version };
  if (op.if_version !== undefined && op.if_version !== version)
    throw conflict(`${JSON.stringify(op.key)} has version ${version}`);
  if (op.op === 'delete') {
    await tx.delete(plugin_kv).where(at);
    return { value: null, version: 0 };
  }
  const json = JSON.stringify(op.value);
  const size_bytes = Buffer.byteLength(json) + Buffer.byteLength(op.key);
  if (size_bytes > MAX_VALUE_BYTES) throw tooLarge(`a value has ${MAX_VALUE_BYTES} bytes at most`);
  if (storableText(json) !== json || json.includes('\\u0000'))
    throw invalid('a value must not contain NUL or unpaired surrogates');
  const set = { value: sql`${json}::jsonb`, size_bytes, version: version + 1 };
  await tx
    .insert(plugin_kv)
    .values({ plugin_id, key: op.key, ...set })
    .onConflictDoUpdate({ target: [plugin_kv.plugin_id, plugin_kv.key], set });
  return { value: op.value, version: version + 1 };
}

async function list(tx: Tx, plugin_id: string, op: Extract<KvOperation, { op: 'list' }>) {
  const { prefix = '', after, limit = LIST } = op;
  const rows = await tx
    .select({ key: plugin_kv.key })
    .from(plugin_kv)
    .where(
      and(
        eq(plugin_kv.plugin_id, plugin_id),
        prefix === '' ? undefined : sql`starts_with(${plugin_kv.key}, ${prefix})`,
        after === undefined ? undefined : gt(plugin_kv.key, after),
      ),
    )
    .orderBy(asc(plugin_kv.key))
    .limit(limit + 1);
  return { keys: rows.slice(0, limit).map(({ key }) => key), more: rows.length > limit };
}

async function holdQuota(tx: Tx, plugin_id: string): Promise<void> {
  const [sum] = await tx
    .select({
      keys: sql<number>`count(*)::int`,
      bytes: sql<string>`coalesce(sum(${plugin_kv.size_bytes}), 0)`,
    })
    .from(plugin_kv)
    .where(eq(plugin_kv.plugin_id, plugin_id));
  if (sum!.keys > MAX_KEYS) throw tooLarge(`a plugin keeps ${MAX_KEYS} values at most`);
  if (Number(sum!.bytes) > MAX_BYTES) throw tooLarge(`a plugin keeps ${MAX_BYTES} bytes at most`);
}
