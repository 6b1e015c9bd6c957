import { type Database, transaction } from '@acp/db';
import type { Call } from './call.ts';
import { type Answer, idempotencyKey, onlyOnce } from './idempotency.ts';
import { ownerOf } from './owner.ts';

/**
 * Executes a validated request: slow preparations first, then the handler, in a transaction if its row says so.
 * @param confirm called if the request had to wait for others of its company: identifies the caller and finds the subject again
 */
export async function perform(database: Database, call: Call, confirm: () => Promise<void>): Promise<Answer> {
  await call.prepare();
  try {
    if (call.mounted.row.tx !== 'write') return await call.run();
    const write = async (waited: boolean) => {
      if (waited) await confirm();
      return inTransaction(database, call);
    };
    const owner = ownerOf(call);
    // Strangers would wait for each other.
    return owner === null ? await write(false) : await call.services.turns.take(owner, write);
  } finally {
    await call.release();
  }
}

async function inTransaction(database: Database, call: Call): Promise<Answer> {
  // Not with files (decisions 8.5): the key would have to cover their bytes.
  const key = call.mounted.idempotent && call.files === undefined ? idempotencyKey(call.request) : undefined;
  const answering = transaction(database, async (tx) => {
    call.tx = tx;
    if (call.request.method === 'HEAD') throw new HeadOnly(await call.run());
    if (key === undefined) return call.runToCommit();
    const { actor, comparableBody: body, target } = call;
    const request = { row: call.mounted.row, actor, key, target, body };
    return { answer: await onlyOnce(tx, request, async () => call.run()) };
  });
  const { answer } = await answering.catch((error: unknown) => {
    if (error instanceof HeadOnly) return error;
    throw error;
  });
  return answer;
}

/** Rolls back a read with side effects (an inbox, whose wakeups it consumes): a HEAD request changes nothing. */
class HeadOnly extends Error {
  readonly answer: Answer;

  constructor(answer: Answer) {
    super('rolled back: only the head was asked for');
    this.answer = answer;
  }
}
