/** `ctl doctor`: checks the whole set-up and says of each thing that is wrong how to mend it. */
import { constants } from 'node:fs';
import { access, mkdir, statfs } from 'node:fs/promises';
import { createListener, createNotifier, migrationStatus } from '@acp/db';
import { knowsStorageMarker, listUsers, strangeEncryptionKeys } from '@acp/core';
import { Vault } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { openStorage } from '@acp/storage';
import type { Answer, Command, CommandContext } from '../command.ts';

export interface Finding {
  check: string;
  ok: boolean;
  detail: string;
  /** What to do about it; empty where all is well. */
  mend: string;
}

type Check = (context: CommandContext) => Promise<Finding> | Finding;

const finding = (check: string, ok: boolean, detail: string, mend: string): Finding => ({
  check,
  ok,
  detail,
  mend: ok ? '' : mend,
});

const MIN_POSTGRES = 140_000;
const LISTEN_TIMEOUT_MS = 5000;

const checks: Record<string, Check> = {
  environment: ({ config }) =>
    finding(
      'environment',
      config.unknown_variables.length === 0,
      config.unknown_variables.length === 0
        ? 'every SERVICE_ variable is known'
        : `unknown: ${config.unknown_variables.join(', ')}`,
      'correct the spelling of these variables or remove them',
    ),
  home: async ({ config }) => {
    await mkdir(config.home, { recursive: true });
    await access(config.home, constants.W_OK);
    const { bavail, bsize } = await statfs(config.home);
    const free = Math.round((bavail * bsize) / 1_000_000);
    return finding(
      'home',
      free > 1000,
      `${config.home}, ${free} MB free`,
      'free disk space or move SERVICE_HOME',
    );
  },
  storage: async ({ config, database }) => {
    const storage = await openStorage(config);
    try {
      const marker = await storage.markerId();
      // An S3 store has to answer: only a listing tells a bucket that is missing from an object that is.
      await storage.list('doctor/')[Symbol.asyncIterator]().next();
      const known = marker === null || (await knowsStorageMarker(database.db, marker, { remember: false }));
      const detail = known ? `${storage.kind} storage answers` : `folder ${marker} is not the instance's`;
      return finding(
        'storage',
        known,
        detail,
        'share one storage folder among all processes, or use SERVICE_STORAGE=s3',
      );
    } finally {
      storage.close();
    }
  },
  database: async ({ database }) => {
    const { rows } = await database.db.execute<{ version: string; number: number }>(
      sql`select current_setting('server_version') as version, current_setting('server_version_num')::int as number`,
    );
    const { version, number } = rows[0]!;
    return finding('database', number >= MIN_POSTGRES, `PostgreSQL ${version}`, 'use PostgreSQL 14 or newer');
  },
  schema: async ({ database }) => {
    const status = await migrationStatus(database.db);
    const detail = `${status.applied} of ${status.known} migrations applied, ${status.unknown} unknown`;
    const mend =
      status.unknown > 0
        ? 'start the newer release'
        : 'run `npm run ctl -- db migrate`, or start the service';
    return finding('schema', status.pending === 0 && status.unknown === 0, detail, mend);
  },
  notifications: async ({ direct_url, logger }) => {
    const heard = await notificationArrives(direct_url, logger);
    const detail = heard ? 'LISTEN and NOTIFY work' : 'a notification did not arrive';
    return finding(
      'notifications',
      heard,
      detail,
      'point DATABASE_DIRECT_URL at PostgreSQL itself, not at a pooler',
    );
  },
  'sign-in': async ({ database }) => {
    const admins = (await listUsers(database.db)).items.filter(
      (user) => user.is_active && user.instance_role === 'admin',
    );
    const detail = `${admins.length} active instance admins`;
    return finding(
      'sign-in',
      admins.length > 0,
      detail,
      'open the /setup link of the log, or run `ctl users create --role admin`',
    );
  },
  'encryption key': async ({ config, database }) => {
    const vault = new Vault(config.encryption_key, config.encryption_key_previous);
    const strange = await strangeEncryptionKeys(database.db, vault);
    if (strange.length > 0) {
      const mend = 'set the former key again, or list it in SERVICE_ENCRYPTION_KEY_PREVIOUS';
      return finding('encryption key', false, `not the key of this database: ${strange.join(', ')}`, mend);
    }
    return finding(
      'encryption key',
      vault.available,
      vault.available ? 'set' : 'no secret can be stored',
      'set SERVICE_ENCRYPTION_KEY to the output of `openssl rand -hex 32`',
    );
  },
  'model endpoint': ({ config }) =>
    finding(
      'model endpoint',
      config.default_llm_provider !== null,
      config.default_llm_provider ?? 'agents without a provider of their own fail their runs',
      'set SERVICE_DEFAULT_LLM_PROVIDER, _MODEL and _API_KEY',
    ),
  'public URL': ({ config }) => {
    const exposed = !['127.0.0.1', 'localhost', '::1'].includes(config.host);
    const plain = config.public_url.startsWith('http:') && exposed;
    return finding(
      'public URL',
      !plain,
      config.public_url,
      'serve https by a proxy and set SERVICE_PUBLIC_URL to its address',
    );
  },
};

async function notificationArrives(url: string, logger: CommandContext['logger']): Promise<boolean> {
  const listener = createListener({ url, logger, application_name: 'doctor' });
  const notifier = createNotifier({ url, logger, application_name: 'doctor', poll_ms: 0 });
  const probe = `doctor-${process.pid}`;
  try {
    const heard = new Promise<boolean>((resolve) => {
      listener.on('control', (items) => {
        if (items.includes(probe)) resolve(true);
      });
      setTimeout(() => resolve(false), LISTEN_TIMEOUT_MS).unref();
    });
    await listener.ready();
    notifier.push('control', [probe]);
    return await heard;
  } finally {
    await notifier.close();
    await listener.close();
  }
}

/** A check that throws is a finding too: what it threw is the detail. */
async function runCheck(name: string, check: Check, context: CommandContext): Promise<Finding> {
  try {
    return await check(context);
  } catch (error) {
    // The driver's error is the cause of drizzle's, whose message is the statement.
    const source = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const detail = source instanceof Error ? source.message : String(source);
    return finding(name, false, detail, name === 'home' ? 'make SERVICE_HOME writable' : 'see the detail');
  }
}

async function examine(context: CommandContext): Promise<Answer> {
  const value = await Promise.all(
    Object.entries(checks).map(([name, check]) => runCheck(name, check, context)),
  );
  const lines = value.map(
    ({ check, ok, detail, mend }) =>
      `${ok ? 'ok  ' : 'FAIL'}  ${check}: ${detail}${mend ? `\n      mend: ${mend}` : ''}`,
  );
  return { value, text: lines.join('\n'), failed: value.some(({ ok }) => !ok) };
}

export const doctor: Record<string, Command> = {
  '': {
    usage: 'doctor',
    doc: 'Checks the whole set-up and says what to mend.',
    any_schema: true,
    run: examine,
  },
};
