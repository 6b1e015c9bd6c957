import { checkCommandBody, commandCatalogue } from '@acp/contract';
import type { CommandName, CommandPayload, CommandResult, CommandRow } from '@acp/contract';
import type { Database, Listener } from '@acp/db';
import { errorKinds, newId, ServiceError } from '@acp/kernel';
import { Calls, type NewCommand, type Outcome } from './calls.ts';
import { type CommandBodies, readBody, storeBody } from './command-bodies.ts';

interface CallCommandOptions {
  /** The caller; stored with the command and passed to its handler. */
  actor: unknown;
  company_id?: string | null;
  /** Shorter than the catalogue's deadline. */
  timeout_ms?: number;
  /** For payloads and results over 64 KB, which are rejected without it. */
  bodies?: CommandBodies | undefined;
}

const MAX_TIMEOUT_MS = 30_000;
/** For a command that no one took in time: its scheduler was lost, and another one takes over within 30 s. */
const RETRY_AFTER_SEC = 5;

/**
 * Has a scheduler execute a command and waits for the validated result. Throws what its handler threw if that was a
 * ServiceError, and `unavailable` if no one responded in time: the command may have been executed, but won't be started.
 */
export async function callCommand<N extends CommandName>(
  database: Database,
  listener: Listener,
  name: N,
  payload: CommandPayload<N>,
  options: CallCommandOptions,
): Promise<CommandResult<N>> {
  const result = await callRow(database, listener, { name, row: commandCatalogue[name] }, payload, options);
  return result as CommandResult<N>;
}

interface NamedRow {
  name: string;
  row: CommandRow;
}

/** The same for a row of any command table. */
export async function callRow(
  database: Database,
  listener: Listener,
  { name, row }: NamedRow,
  payload: unknown,
  options: CallCommandOptions,
): Promise<unknown> {
  checkCommandBody(row.payload, payload, `payload of ${name}`);
  const timeoutMs = Math.min(options.timeout_ms ?? MAX_TIMEOUT_MS, row.deadline_sec * 1000, MAX_TIMEOUT_MS);
  const { json, key } = await storeBody(payload, options.bodies);
  const command: NewCommand = {
    id: newId(),
    name,
    company_id: options.company_id ?? null,
    actor: options.actor,
    payload: json,
    payload_key: key,
    lease: row.taken_by === 'any' ? null : (row.taken_by as (payload: unknown) => string)(payload),
    gives_up_at: performance.now() + timeoutMs,
  };
  const outcome = await callsOf(database, listener).outcomeOf(command, AbortSignal.timeout(timeoutMs));
  if (outcome === undefined) throw notInTime();
  return checked(name, row, await valueOf(outcome, options.bodies));
}

const notInTime = () =>
  new ServiceError('unavailable', 'no scheduler answered in time', { retry_after_sec: RETRY_AFTER_SEC });

/** One per listener of a database, for its lifetime. */
const known = new WeakMap<Database, WeakMap<Listener, Calls>>();

function callsOf(database: Database, listener: Listener): Calls {
  const ofDatabase = known.get(database) ?? new WeakMap<Listener, Calls>();
  known.set(database, ofDatabase);
  const calls = ofDatabase.get(listener) ?? new Calls(database, listener);
  ofDatabase.set(listener, calls);
  return calls;
}

async function valueOf(outcome: Outcome, bodies: CommandBodies | undefined): Promise<unknown> {
  const { status, result, result_key, error } = outcome;
  if (status === 'succeeded') return readBody(result, result_key, bodies);
  if (status === 'expired') throw notInTime();
  const kind = errorKinds.find((each) => each === error?.kind);
  if (error === null || kind === undefined) throw new Error('the command failed');
  const { message, said = message, extra, retry_after_sec } = error;
  throw new ServiceError(kind, said, { extra, retry_after_sec });
}

/** A scheduler of another version may return another shape: that is our fault, not the caller's. */
function checked(name: string, row: CommandRow, result: unknown): unknown {
  try {
    return checkCommandBody(row.result, result, `result of ${name}`);
  } catch (cause) {
    throw new Error('the command returned a result that does not match its schema', { cause });
  }
}
