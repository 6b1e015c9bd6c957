import { randomBytes } from 'node:crypto';
import { admitEncryptionKey, noteOnlyEncryptionKey, rewrapBatch, sealedColumns } from '@acp/core';
import { isMissingTable, transaction } from '@acp/db';
import { encryptionKeyFile, makeHomeFolder, Vault } from '@acp/kernel';
import { type Answer, type Command, type CommandContext, table, UsageError } from '../command.ts';
import { writeNewFile } from '../new-file.ts';

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

/**
 * Makes a key in a file of this home, which its processes read at start if the environment sets none. The file is written
 * before its fingerprint is committed, and stays even if the answer to that is lost: a database whose key is lost could not be
 * used with any other.
 */
async function makeKey({ config, database }: CommandContext): Promise<Answer> {
  if (config.encryption_key !== null) throw new UsageError('there is a key already');
  const key = randomBytes(32);
  const file = encryptionKeyFile(config.home);
  const vault = new Vault(key, []);
  const write = async () => {
    await makeHomeFolder(config.home);
    await writeNewFile(file, `${key.toString('hex')}\n`);
  };
  try {
    await transaction(database, async (tx) => {
      await admitEncryptionKey(tx, vault);
      await write();
    });
  } catch (error) {
    // Before the first start nothing can be sealed under another key; that start records this key's fingerprint.
    if (!isMissingTable(error)) throw error;
    await write();
  }
  const text = `created ${file}: every process with this SERVICE_HOME uses it from its next start. Keep a copy: backups do not contain it, and without it the stored secrets are lost.`;
  return { value: { fingerprint: vault.fingerprint, file }, text };
}

export const secrets: Record<string, Command> = {
  'make-key': {
    usage: 'secrets make-key',
    doc: 'Creates the encryption key for stored secrets in SERVICE_HOME, unless SERVICE_ENCRYPTION_KEY is set.',
    any_schema: true,
    run: makeKey,
  },
  rewrap: {
    usage: 'secrets rewrap',
    doc: 'Encrypts everything stored under a former key again, with the current one.',
    run: rewrap,
  },
};
