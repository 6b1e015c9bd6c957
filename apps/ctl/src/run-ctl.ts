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
  unlessAborted,
} from '@acp/kernel';
import { openQueue } from '@acp/queue';
import { type Answer, type Command, type CommandContext, UsageError } from './command.ts';
import { Interrupted, listenForInterruption } from './interruption.ts';
import { nouns } from './nouns.ts';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

const askHelp = ['-h', '--help', 'help'];

/** The commands that begin with these words; all if none does. */
function help(words: readonly string[] = []): string {
  const commands = Object.values(nouns).flatMap((verbs) => Object.values(verbs));
  const about = commands.filter(({ usage }) => words.every((word, at) => usage.split(' ')[at] === word));
  return [
    'usage: npm run ctl -- <noun> <verb> [options] [--json]',
    'An option that is the only one required needs no name: workers approve <id or name>.',
    ...(about.length === 0 ? commands : about).map((c) => `  ${c.usage}\n      ${c.doc}`),
  ].join('\n');
}

/** Undefined unless the command line asks for help. */
export function helpFor(argv: readonly string[]): string | undefined {
  if (!argv.some((word, at) => askHelp.includes(word) && (at === 0 || word !== 'help'))) return undefined;
  const end = argv.findIndex((word, at) => word.startsWith('-') && at > 0);
  return help(argv.slice(0, end === -1 ? undefined : end).filter((word) => !askHelp.includes(word)));
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
      noun === '' ? help() : `there is no noun ${noun}: use one of ${Object.keys(nouns).join(', ')}`,
    );
  // Commands consist of two words, one or none.
  const long = argv.slice(1, 3).join(' ');
  const verb = ['', long].find((words) => Object.hasOwn(verbs, words)) ?? argv[1] ?? '';
  const command = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
  if (!command) {
    const usages = Object.values(verbs).map(({ usage }) => `  ${usage}`);
    const fault = verb === '' ? `${noun} needs a verb` : `there is no ${noun} ${verb}`;
    throw new UsageError([`${fault}; usage:`, ...usages].join('\n'));
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
  const interruption = listenForInterruption();
  const { signal } = interruption;
  const instance = await openInstanceDatabase(config, logger, signal);
  const database = openDatabase({ url: instance.url, max: 4, application_name: 'ctl', logger });
  const context = { config, logger, database, direct_url: instance.direct_url, options };
  try {
    return await unlessAborted(perform(command, context), signal);
  } finally {
    // Interrupted, its statements are not waited for.
    if (!signal.aborted) await database.close();
    await instance.stop();
    interruption.stop();
  }
}

async function perform(command: Command, context: CommandContext): Promise<Answer> {
  if (command.any_schema) return command.run(context);
  const { pending, unknown } = await migrationStatus(context.database.db);
  if (pending > 0)
    throw new UsageError(
      'the schema is not up to date: run `npm run ctl -- db migrate`, or start the service',
    );
  if (unknown > 0) throw new UsageError('the schema is newer than this release');
  await assertNotRestoring(context.database.db);
  return withSignals(context, async () => command.run(context));
}

/** Commands change rows that running processes have cached, so they are notified as by the service itself. */
async function withSignals(
  { database, direct_url: url, logger }: CommandContext,
  run: () => Promise<Answer>,
): Promise<Answer> {
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
  const argv = process.argv.slice(2);
  const asked = helpFor(argv);
  if (asked !== undefined) {
    console.log(asked);
    return 0;
  }
  const { command, options, json } = parseCommand(argv);
  const { value, text, failed } = await execute(command, options);
  console.log(json ? printable(JSON.stringify(value)) : printableLines(text));
  return failed ? EXIT_FAILED : 0;
}

/** Executes the command line and returns the exit code. */
export async function runCtl(): Promise<number> {
  try {
    return await answer();
  } catch (error) {
    // Its work may still be under way, and nobody listens for signals any more.
    if (error instanceof Interrupted) process.kill(process.pid, error.by);
    else if (error instanceof UsageError || error instanceof ConfigError)
      console.error(printableLines(error.message));
    else if (error instanceof ServiceError || isFromOutside(error))
      console.error(printableLines(explainError(error)));
    else throw error;
    return error instanceof UsageError ? EXIT_USAGE : EXIT_FAILED;
  }
}
