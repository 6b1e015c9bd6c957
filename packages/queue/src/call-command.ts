import { checkCommandBody, commandCatalogue } from '@acp/contract';
import type { CommandName, CommandPayload, CommandResult, CommandRow } from '@acp/contract';
import type { Database, Listener } from '@acp/db';
import { errorKinds, newId, ServiceError } from '@acp/kernel';
import { Calls, type NewCommand, type Outcome } from './calls.ts';
import { type CommandBodies, readBody, storeBody } from './command-bodies.ts';

export interface CallCommandOptions {
  /** Who asks; stored with the command and given to its handler. */
  actor: unknown;
  company_id?: string | null;
  /** Less than the catalogue's deadline. */
  timeout_ms?: number;
  /** For payloads and results over 64 KB, which are refused without it. */
  bodies?: CommandBodies | undefined;
}

const MAX_TIMEOUT_MS = 30_000;
/** Of a command that nobody took in time: its scheduler was lost, and another takes over within 30 s. */
const RETRY_AFTER_SEC = 5;

/**
 * Has a scheduler do it and waits for the result, which is checked. Throws what its handler threw, if that was a
 * ServiceError, and `unavailable` when nobody answered in time: it may then have been done, but is not started any more.
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

/** The same for a row of any table. */
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
    timeout_ms: timeoutMs,
  };
  const outcome = await callsOf(database, listener).outcomeOf(command, AbortSignal.timeout(timeoutMs));
  if (outcome === undefined) throw notInTime();
  return checked(name, row, await valueOf(outcome, options.bodies));
}

const notInTime = () =>
  new ServiceError('unavailable', 'no scheduler answered in time', { retry_after_sec: RETRY_AFTER_SEC });

/** One for each listener of a database, as long as it lives. */
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
  const { message, extra, retry_after_sec } = error;
  throw new ServiceError(kind, message, { extra, retry_after_sec });
}

/** What another version of the scheduler answers may be of another shape: that is our failure, not the caller's. */
function checked(name: string, row: CommandRow, result: unknown): unknown {
  try {
    return checkCommandBody(row.result, result, `result of ${name}`);
  } catch (cause) {
    throw new Error('the command answered with a result of another shape', { cause });
  }
}
