/**
 * `Idempotency-Key` (decisions 8.5): the row that remembers an answer commits with the effect, so a repeat finds either
 * both or neither. A repeat during the first request waits for it at the primary key.
 */
import type { Actor, EndpointRow } from '@acp/contract';
import { actorId } from '@acp/core';
import { schema } from '@acp/db';
import type { Tx } from '@acp/db';
import { conflict, invalid, sha256Hex } from '@acp/kernel';
import { eq, sql } from 'drizzle-orm';
import type { IncomingMessage } from 'node:http';

const { idempotency_keys } = schema;

export interface Answer {
  readonly status: number;
  /** JSON; undefined for an answer without a body. */
  readonly text: string | undefined;
  readonly replayed?: boolean;
}

interface IdempotentCall {
  readonly row: EndpointRow;
  readonly actor: Actor;
  readonly key: string;
  /** The path with its ids, normalised. */
  readonly target: string;
  readonly body: unknown;
}

const visibleAscii = /^[\x21-\x7e]{1,255}$/;

/** Undefined if there is none; throws 400 if it is empty, too long or not visible ASCII. */
export function idempotencyKey(request: IncomingMessage): string | undefined {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || !visibleAscii.test(key)) throw invalid('invalid Idempotency-Key');
  return key;
}

/**
 * Executes `act`, unless it was executed before: then returns that answer. Throws 409 if the key was sent with another
 * request, or if the answer contained a secret, which is not kept.
 */
export async function onlyOnce(tx: Tx, call: IdempotentCall, act: () => Promise<Answer>): Promise<Answer> {
  const { row, actor, key } = call;
  const scopeHash = sha256Hex(JSON.stringify([actor.kind, actorId(actor), row.id, key]));
  const requestHash = sha256Hex(JSON.stringify([call.target, call.body ?? null]));
  if (!(await claim(tx, scopeHash, requestHash))) return replay(tx, row, scopeHash, requestHash);

  const answer = await act();
  const kept = showsSecret(row, answer) ? undefined : answer.text;
  await tx
    .update(idempotency_keys)
    .set({ status: answer.status, body: kept === undefined ? null : sql`${kept}::jsonb` })
    .where(eq(idempotency_keys.scope_hash, scopeHash));
  return answer;
}

function showsSecret({ issues_secret: field }: EndpointRow, { text }: Answer): boolean {
  if (field === undefined || text === undefined) return false;
  const shown: unknown = (JSON.parse(text) as Record<string, unknown>)[field];
  return shown !== undefined && shown !== null;
}

/** True if the key is new, or so old that it counts as new. */
async function claim(tx: Tx, scopeHash: string, requestHash: string): Promise<boolean> {
  const { rowCount } = await tx.execute(sql`
    insert into ${idempotency_keys} (scope_hash, request_hash) values (${scopeHash}, ${requestHash})
    on conflict (scope_hash) do update
      set request_hash = excluded.request_hash, status = null, body = null, created_at = now()
      where ${idempotency_keys.created_at} < now() - interval '24 hours'`);
  return rowCount === 1;
}

async function replay(tx: Tx, row: EndpointRow, scopeHash: string, requestHash: string): Promise<Answer> {
  const [kept] = await tx
    .select({
      request_hash: idempotency_keys.request_hash,
      status: idempotency_keys.status,
      text: sql<string | null>`${idempotency_keys.body}::text`,
    })
    .from(idempotency_keys)
    .where(eq(idempotency_keys.scope_hash, scopeHash));
  // Removed between two statements by the retention. The next attempt finds the key free.
  if (kept === undefined || kept.status === null) throw conflict('the request is still being processed');
  if (kept.request_hash !== requestHash) throw conflict('Idempotency-Key was used with another request');
  if (row.issues_secret !== undefined && kept.text === null) throw conflict('already issued');
  return { status: kept.status, text: kept.text ?? undefined, replayed: true };
}
