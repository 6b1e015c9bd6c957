import { join } from 'node:path';
import { isUuid } from '@acp/kernel';
import { AdapterError } from '../adapter-error.ts';
import { jsonObject } from '../process/lines.ts';
import { runProgram, type ProgramCall, type ProgramEnd } from '../process/run-program.ts';
import { programCall } from '../process/program-call.ts';
import { TimeLimit } from '../process/time-limit.ts';
import type { AdapterEvent, AdapterTask, ProgramSpec } from '../task.ts';
import type { CliCall, CliDialect, CliPermissions, CliReader } from './cli-dialect.ts';

/** A name in the agents' homes that no CLI uses. */
const TEMP_FOLDER = '.service-tmp';
const RETRIES = 4;
/** Maximum number of transcript entries per run besides the agent's text; a program that never ends could fill the disk. */
const MOST_NOTES = 5000;

/**
 * Runs a CLI once in the agent's home: streams its output, then its usage and session. If the CLI no longer knows the session,
 * the session is forgotten and the run starts over. Throws AdapterError; no process is left behind, however the run ends.
 */
export async function* executeCli(
  dialect: CliDialect,
  task: AdapterTask,
  signal: AbortSignal,
): AsyncGenerator<AdapterEvent, void> {
  const { program } = task;
  if (program === undefined) throw new AdapterError('config', 'CLI adapters do not run here');
  const limit = new TimeLimit(signal, program.timeout_sec);
  try {
    let { session } = program;
    for (;;) {
      const resume = session !== null && isUuid(session.id) ? session : null;
      const prompt = promptText(task, resume !== null);
      if (prompt.length > dialect.longest_prompt)
        throw new AdapterError('permanent', `the prompt is longer than ${dialect.longest_prompt} characters`);
      const call: CliCall = {
        model: task.model.trim() === '' ? null : task.model,
        resume,
        permissions: permissionsOf(task.adapter_config, program),
        walled: program.container !== null || program.sandbox !== undefined,
        temp_dir: program.container === null ? join(program.home, TEMP_FOLDER) : '/tmp',
        prompt_length: prompt.length,
        retries: program.retries ?? RETRIES,
      };
      const reader = dialect.reader(call);
      const command = [...program.command, ...dialect.arguments(call)];
      // Whatever the CLI makes of its switches, a read-only agent finds nothing writable.
      const called = programCall({ ...program, read_only: call.permissions === 'read' }, command, prompt);
      const end = yield* readProgram(called, reader, limit);
      const outcome = reader.finish(end);
      const mayStartAfresh = outcome.lost_session && !limit.signal.aborted;
      if (outcome.lost_session) {
        yield { kind: 'session', session: null };
        yield { kind: 'log', message: 'the session is unknown to the CLI: beginning a new one' };
        session = null;
        if (mayStartAfresh) continue;
      }
      yield* outcome.usage;
      if (outcome.session !== null) {
        yield { kind: 'session', session: { ...outcome.session, cwd: program.cwd } };
      }
      limit.check();
      if (outcome.failure !== null) throw outcome.failure;
      return;
    }
  } finally {
    limit.close();
  }
}

async function* readProgram(
  call: ProgramCall,
  reader: CliReader,
  limit: TimeLimit,
): AsyncGenerator<AdapterEvent, ProgramEnd> {
  limit.check();
  const lines = runProgram(call, limit.signal);
  let notes = 0;
  try {
    for (;;) {
      const next = await lines.next();
      if (next.done === true) return next.value;
      if (next.value === undefined) yield { kind: 'log', message: 'a line that was too long was left out' };
      const line = next.value === undefined ? undefined : jsonObject(next.value);
      // Anything that is not a JSON object is a warning from a launcher or shell.
      if (line === undefined) continue;
      for (const event of reader.read(line)) {
        const isNote = event.kind === 'log' || event.kind === 'tool';
        if (isNote) notes += 1;
        if (isNote && notes === MOST_NOTES) yield { kind: 'log', message: 'more than this is not recorded' };
        if (!isNote || notes < MOST_NOTES) yield event;
      }
    }
  } finally {
    // If the caller leaves early, the program ends before the iteration does.
    await lines.return({ code: null, signal: null, stderr: '' });
  }
}

/**
 * In a container the CLI never asks for permission, unless its agent is configured otherwise. In the sandbox it may run
 * commands; outside of one, only if an admin allowed it.
 */
export function permissionsOf(config: unknown, { container, sandbox }: ProgramSpec): CliPermissions {
  const setting = (key: string): unknown =>
    typeof config === 'object' && config !== null ? Reflect.get(config, key) : undefined;
  const dangerous = setting('allow_dangerous_permissions');
  const wanted = setting('permissions');
  const profile = wanted === 'read' || wanted === 'edit' || wanted === 'commands' ? wanted : undefined;
  if (container !== null) return profile ?? (dangerous === false ? 'edit' : 'all');
  if (dangerous === true) return 'all';
  if (sandbox === undefined || dangerous === false) return profile === 'read' ? 'read' : 'edit';
  return profile ?? 'commands';
}

/** Never starts with a slash, which the CLI would take for one of its own commands. */
function promptText({ system_prompt, messages }: AdapterTask, resumed: boolean): string {
  // The session already contains the rest.
  if (resumed && messages.length > 1) return `Answers to your verbs\n\n${messages.at(-1)?.content ?? ''}`;
  const said = messages.map(({ content }) => content).join('\n\n');
  return system_prompt.trim() === ''
    ? `Task\n\n${said}`
    : `Instructions\n\n${system_prompt}\n\nTask\n\n${said}`;
}
