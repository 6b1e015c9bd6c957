import path from 'node:path';
import type { Readable } from 'node:stream';
import {
  backUpInstance,
  type BackupStore,
  type VerifiedBackup,
  keptBackups,
  openBackupStore,
  restoreBackup,
  verifyBackup,
} from '@acp/backup';
import { listBackups } from '@acp/core';
import { type Database, isRestoring, migrationStatus } from '@acp/db';
import { printable, Vault } from '@acp/kernel';
import { openStorage } from '@acp/storage';
import { type Answer, type Command, type CommandContext, option, table, UsageError } from '../command.ts';
import { openGiven } from '../given-file.ts';
import { withNewFile } from '../new-file.ts';
import { shrinkHeap } from '../shrink-heap.ts';

const never = new AbortController().signal;

const vaultOf = ({ config }: CommandContext): Vault =>
  new Vault(config.encryption_key, config.encryption_key_previous);

const keysOf = (context: CommandContext) => ({
  vault: vaultOf(context),
  accept_unsealed: context.options.unsealed === 'true',
});

async function backup(context: CommandContext): Promise<Answer> {
  const { config, database, direct_url, logger } = context;
  shrinkHeap();
  const storage = await openStorage(config);
  const backups = await openBackupStore(config);
  try {
    const by = { trigger: 'operator', claimed_by: 'ctl' } as const;
    const parts = { config, database, direct_url, storage, backups, logger, vault: vaultOf(context) };
    const { id, file, bytes, trailer } = await backUpInstance(parts, by, never);
    const left = trailer.left_out.map(({ path: name, reason }) => `\nleft out: ${name} (${reason})`);
    return {
      value: { id, file, bytes, left_out: trailer.left_out },
      text: `${file}: ${bytes} bytes, verified${left.join('')}`,
    };
  } finally {
    storage.close();
    backups.store.close();
  }
}

async function list(context: CommandContext): Promise<Answer> {
  const { database } = context;
  if (!(await isInstance(database))) return listFiles(context);
  const value = await listBackups(database.db);
  return {
    value,
    text: table(value, ['started_at', 'status', 'trigger', 'phase', 'bytes', 'file', 'error']),
  };
}

async function isInstance(database: Database): Promise<boolean> {
  const { pending, unknown } = await migrationStatus(database.db);
  return pending === 0 && unknown === 0 && !(await isRestoring(database.db));
}

/** What can be restored if the database is lost, and with it the list. */
async function listFiles({ config }: CommandContext): Promise<Answer> {
  const backups = await openBackupStore(config);
  try {
    const kept = await keptBackups(backups);
    // Their names begin with their time.
    const value = [...kept]
      .map(([file, bytes]) => ({ file, bytes }))
      .toSorted((a, b) => (a.file < b.file ? 1 : -1));
    const text = 'the database has no list for this release; these files are there';
    return { value, text: `${text}\n${table(value, ['file', 'bytes'])}` };
  } finally {
    backups.store.close();
  }
}

/** A path, or the name of a backup in the store. */
function opener(context: CommandContext, { store, prefix }: BackupStore): () => Promise<Readable> {
  const file = option(context, 'file');
  if (file.includes('/') || file.includes(path.sep))
    return async () => (await openGiven(file)).createReadStream();
  return async () => {
    const body = await store.get(prefix + file);
    if (body === undefined) throw new UsageError(`there is no backup ${file}: see db backups`);
    return body;
  };
}

async function verify(context: CommandContext): Promise<Answer> {
  const backups = await openBackupStore(context.config);
  try {
    const open = opener(context, backups);
    const { missing: names } = context.options;
    if (names === undefined) {
      const verified = await verifyBackup(open, keysOf(context));
      return { value: valueOf(verified), text: summary(verified) };
    }
    const verified = await withNewFile(names, async (handle) =>
      verifyBackup(open, keysOf(context), async (missing) => {
        const lines = missing.map(({ table: named_by, key }) => `${printable(key)}\t${named_by}\n`);
        await handle.writeFile(lines.join(''));
      }),
    );
    return {
      value: { ...valueOf(verified), names },
      text: `${summary(verified)}\nthe names of all that are missing: ${names}`,
    };
  } finally {
    backups.store.close();
  }
}

async function restore(context: CommandContext): Promise<Answer> {
  const { config, direct_url, options } = context;
  shrinkHeap();
  const storage = await openStorage(config);
  const backups = await openBackupStore(config);
  try {
    const target = {
      database_url: options.into ?? direct_url,
      storage,
      homes: path.join(config.home, 'companies'),
      into_homes: options.into === undefined ? ('any' as const) : ('empty' as const),
      backups,
      ...keysOf(context),
    };
    const verified = await restoreBackup(opener(context, backups), target);
    return { value: valueOf(verified), text: `restored ${summary(verified)}` };
  } finally {
    storage.close();
    backups.store.close();
  }
}

const valueOf = ({ header, missing }: VerifiedBackup) => ({ ...header, missing });

function summary({ header, trailer, missing }: VerifiedBackup): string {
  const { tables, files, left_out } = trailer;
  const reasons = new Map(left_out.map(({ path: name, reason }) => [name, reason]));
  const lines = missing.named.map(({ table: named_by, key }) => {
    const reason = reasons.get(`storage/${key}`) ?? `a row of ${named_by} names it`;
    return `\nmissing: ${key} (${reason})`;
  });
  const count = missing.count === 0 ? '' : `, without ${missing.count} that rows name`;
  const more = missing.count > lines.length ? `\nand ${missing.count - lines.length} more` : '';
  return `the backup of ${String(header.created_at)}: ${tables.length} tables, ${files} files${count}${lines.join('')}${more}`;
}

/** Verbs of the noun `db`. */
export const backupCommands: Record<string, Command> = {
  backup: {
    usage: 'db backup',
    doc: 'Backs up database, storage and homes, and verifies the result.',
    run: backup,
  },
  backups: {
    usage: 'db backups',
    doc: 'Lists the backups, newest first; with an empty database, the files that are there.',
    any_schema: true,
    run: list,
  },
  verify: {
    usage: 'db verify --file <name or path> [--missing <path>] [--unsealed]',
    doc: 'Verifies a backup by reading it as a restore would; writes the names of all files that it lacks to a new file.',
    required: ['file'],
    optional: ['missing'],
    flags: ['unsealed'],
    any_schema: true,
    run: verify,
  },
  restore: {
    usage: 'db restore --file <name or path> [--into <database url>] [--unsealed]',
    doc: 'Restores a backup into an empty database, and its files into storage and homes.',
    required: ['file'],
    optional: ['into'],
    flags: ['unsealed'],
    any_schema: true,
    run: restore,
  },
};
