import { migrate, migrationStatus } from '@acp/db';
import { migrateQueue } from '@acp/queue';
import type { Answer, Command, CommandContext } from '../command.ts';
import { backupCommands } from './backups.ts';
import { vectorCommands } from './vectors.ts';

async function runMigrations(context: CommandContext): Promise<Answer> {
  await migrate({ url: context.direct_url, logger: context.logger, after: [migrateQueue] });
  return status(context);
}

async function status(context: CommandContext): Promise<Answer> {
  const value = await migrationStatus(context.database.db);
  const state =
    value.unknown > 0
      ? 'newer than this release'
      : value.pending > 0
        ? `${value.pending} migrations pending`
        : 'up to date';
  return { value, text: `schema ${state} (${value.applied} of ${value.known} applied)` };
}

export const db: Record<string, Command> = {
  migrate: {
    usage: 'db migrate',
    doc: 'Migrates the schema to this release.',
    any_schema: true,
    run: runMigrations,
  },
  status: {
    usage: 'db status',
    doc: 'Shows which migrations have been applied.',
    any_schema: true,
    run: status,
  },
  ...backupCommands,
  ...vectorCommands,
};
