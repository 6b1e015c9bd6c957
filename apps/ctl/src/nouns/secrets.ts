import { admitEncryptionKey, noteOnlyEncryptionKey, rewrapBatch, sealedColumns } from '@acp/core';
import { transaction } from '@acp/db';
import { Vault } from '@acp/kernel';
import { type Answer, type Command, type CommandContext, table, UsageError } from '../command.ts';

/** Rows per transaction: small enough that running processes hardly wait for them. */
const BATCH = 200;

/**
 * Reseals everything under the current key. Fingerprints of former keys are only forgotten once nothing needs them any more;
 * until then SERVICE_ENCRYPTION_KEY_PREVIOUS must stay set.
 */
async function rewrap({ config, database }: CommandContext): Promise<Answer> {
  const vault = new Vault(config.encryption_key, config.encryption_key_previous);
  const { fingerprint } = vault;
  if (fingerprint === null) throw new UsageError('SERVICE_ENCRYPTION_KEY is not set');
  await transaction(database, (tx) => admitEncryptionKey(tx, vault));
  const rows: { column: string; rewrapped: number; unreadable: number }[] = [];
  for (const column of sealedColumns) {
    const sum = { column: column.name, rewrapped: 0, unreadable: 0 };
    for (let after: string | null | undefined; after !== null;) {
      const from: string | null = after ?? null;
      const batch = await transaction(database, (tx) => rewrapBatch(tx, vault, column, from, BATCH));
      sum.rewrapped += batch.rewrapped;
      sum.unreadable += batch.unreadable.length;
      after = batch.after;
    }
    rows.push(sum);
  }
  const failed = rows.some(({ unreadable }) => unreadable > 0);
  if (!failed) await transaction(database, (tx) => noteOnlyEncryptionKey(tx, fingerprint));
  const end = failed
    ? 'some values open with no configured key: add theirs to SERVICE_ENCRYPTION_KEY_PREVIOUS'
    : `everything is under key ${fingerprint}: SERVICE_ENCRYPTION_KEY_PREVIOUS may go, once every process runs with it`;
  return {
    value: { fingerprint, columns: rows },
    text: `${table(rows, ['column', 'rewrapped', 'unreadable'])}\n${end}`,
    failed,
  };
}

export const secrets: Record<string, Command> = {
  rewrap: {
    usage: 'secrets rewrap',
    doc: 'After a rotation: brings all that is stored encrypted under the current key.',
    run: rewrap,
  },
};
