/** Commands of the operator CLI, run against the same SERVICE_HOME or DATABASE_URL as the service. */
import { parseArgs } from 'node:util';
import { assertNotRestoring, createNotifier, migrationStatus, openDatabase } from '@acp/db';
import { openInstanceDatabase } from '@acp/embedded-postgres';
import {
  ConfigError,
  createLogger,
  explainError,
  isFromOutside,
  loadConfig,
  printable,
  ServiceError,
} from '@acp/kernel';
import { openQueue } from '@acp/queue';
import { type Answer, type Command, type CommandContext, UsageError } from './command.ts';
import { nouns } from './nouns.ts';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

function help(): string {
  const commands = Object.values(nouns).flatMap((verbs) => Object.values(verbs));
  return [
    'usage: npm run ctl -- <noun> <verb> [options] [--json]',
    'An option that is the only one required needs no name: workers approve <id or name>.',
    ...commands.map((c) => `  ${c.usage}\n      ${c.doc}`),
  ].join('\n');
}

/** Finds the command and checks its options. @throws UsageError */
export function parseCommand(argv: readonly string[]): {
  command: Command;
  options: CommandContext['options'];
  json: boolean;
} {
  const noun = argv[0] ?? '';
  const verbs = Object.hasOwn(nouns, noun) ? nouns[noun]! : undefined;
  if (!verbs)
    throw new UsageError(
      ['', '-h', '--help', 'help'].includes(noun)
        ? help()
        : `there is no noun ${noun}: use one of ${Object.keys(nouns).join(', ')}`,
    );
  // Commands consist of two words, one or none.
  const long = argv.slice(1, 3).join(' ');
  const verb = ['', long].find((words) => Object.hasOwn(verbs, words)) ?? argv[1] ?? '';
  const command = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
  if (!command) {
    const usages = Object.values(verbs).map(({ usage }) => `  ${usage}`);
    throw new UsageError([`there is no ${[noun, verb].join(' ').trim()}; usage:`, ...usages].join('\n'));
  }
  const named = [...(command.required ?? []), ...(command.optional ?? [])];
  const options = Object.fromEntries([
    ...named.map((name) => [name, { type: 'string' }]),
    ...(command.flags ?? []).map((name) => [name, { type: 'boolean' }]),
    ['json', { type: 'boolean' }],
  ]) as Record<string, { type: 'string' | 'boolean' }>;
  try {
    const args = argv.slice(verb === '' ? 1 : 1 + verb.split(' ').length);
    const [subject, ...others] = command.required ?? [];
    // What a command is about needs no name if it needs nothing else: `workers approve <id or name>`.
    const allowPositionals = subject !== undefined && others.length === 0;
    const { values, positionals } = parseArgs({ args, options, strict: true, allowPositionals });
    const { json, ...given } = values as Record<string, string | boolean | undefined>;
    const texts = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, String(value)]));
    if (subject !== undefined && positionals.length > 0) {
      if (positionals.length > 1 || texts[subject] !== undefined)
        throw new UsageError(`one --${subject} is enough\nusage: ${command.usage}`);
      texts[subject] = positionals[0]!;
    }
    const missing = (command.required ?? []).filter((name) => texts[name] === undefined);
    if (missing.length > 0)
      throw new UsageError(`missing --${missing.join(', --')}\nusage: ${command.usage}`);
    return { command, options: texts, json: json === true };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(
      `${error instanceof Error ? error.message : String(error)}\nusage: ${command.usage}`,
    );
  }
}

async function execute(command: Command, options: CommandContext['options']): Promise<Answer> {
  const config = loadConfig();
  const logger = createLogger({
    level: config.log_level === 'info' ? 'warn' : config.log_level,
    format: 'pretty',
    role: 'ctl',
    stream: process.stderr,
  });
  const instance = await openInstanceDatabase(config, logger);
  const database = openDatabase({ url: instance.url, max: 4, application_name: 'ctl', logger });
  try {
    if (!command.any_schema) {
      const { pending, unknown } = await migrationStatus(database.db);
      if (pending > 0)
        throw new UsageError(
          'the schema is not up to date: run `npm run ctl -- db migrate`, or start the service',
        );
      if (unknown > 0) throw new UsageError('the schema is newer than this release');
      await assertNotRestoring(database.db);
    }
    return await withSignals(database, instance.direct_url, logger, command, () =>
      command.run({ config, logger, database, direct_url: instance.direct_url, options }),
    );
  } finally {
    await database.close();
    await instance.stop();
  }
}

/** Commands change rows that running processes have cached, so they are notified as by the service itself. */
async function withSignals(
  database: CommandContext['database'],
  url: string,
  logger: CommandContext['logger'],
  command: Command,
  run: () => Promise<Answer>,
): Promise<Answer> {
  if (command.any_schema) return run();
  const notifier = createNotifier({ url, logger, application_name: 'ctl', poll_ms: 0 });
  database.notifier = notifier;
  const queue = await openQueue({ database, role: 'client', logger });
  try {
    return await run();
  } finally {
    await queue.stop();
    await notifier.close();
  }
}

const printableLines = (text: string): string => text.split('\n').map(printable).join('\n');

async function answer(): Promise<number> {
  const { command, options, json } = parseCommand(process.argv.slice(2));
  const { value, text, failed } = await execute(command, options);
  console.log(json ? printable(JSON.stringify(value)) : printableLines(text));
  return failed ? EXIT_FAILED : 0;
}

/** Executes the command line and returns the exit code. */
export async function runCtl(): Promise<number> {
  try {
    return await answer();
  } catch (error) {
    if (error instanceof UsageError || error instanceof ConfigError)
      console.error(printableLines(error.message));
    else if (error instanceof ServiceError || isFromOutside(error))
      console.error(printableLines(explainError(error)));
    else throw error;
    return error instanceof UsageError ? EXIT_USAGE : EXIT_FAILED;
  }
}
