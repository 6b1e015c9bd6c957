import { verbByName } from '@acp/contract';
import type { VerbRow } from '@acp/contract';
import { keyLedger, recordAction } from '@acp/core';
import type { ClaimedRun, RunAction } from '@acp/core';
import { asServiceError, transaction } from '@acp/db';
import type { Database } from '@acp/db';
import { invalid } from '@acp/kernel';
import type { Logger, Scrubber } from '@acp/kernel';
import { FileStore, type PlacedFile, type Storage } from '@acp/storage';
import { bounded } from '../execution/clean-text.ts';
import { RunStopped } from '../execution/held-run.ts';
import type { HeldRun } from '../execution/held-run.ts';
import { persist } from '../execution/persist.ts';
import type { ParsedAction } from './parse.ts';
import { requirePermission } from './resolve.ts';
import type { VerbFile, VerbOutcome } from './verb.ts';
import { verbs } from './verbs.ts';

export interface ApplySettings {
  database: Database;
  logger: Logger;
  run: ClaimedRun;
  held: HeldRun;
  scrubber: Scrubber;
  /** Where verbs that write files put their bytes. */
  storage: Storage;
  /** Which verbs the kind of the run obeys. */
  applies: (verb: VerbRow) => boolean;
}

/** What became of one verb, as transcript, next turn and next prompt tell it. */
export interface AppliedAction {
  ordinal: number;
  verb: string;
  args: Record<string, unknown>;
  ok: boolean;
  /** Something is different now. */
  changed: boolean;
  /** Of a read verb the text for the next turn, whole. */
  result: string | null;
  error: string | null;
}

/** In characters, of what is kept of a verb. */
const BODY_KEPT = 2000;
const LINE_KEPT = 1000;
const RESULT_KEPT = 1000;

/** The fence is lost, or the ordinal is there already: an earlier attempt took effect whose answer got lost. */
class NotRecorded extends Error {}

/**
 * Applies one verb in its own transaction, which ends with its row in `run_actions`: a verb takes effect once, and only
 * while the fence holds (decisions 8.3). A refusal is recorded and never fails the run. Throws RunStopped.
 */
export async function applyAction(settings: ApplySettings, action: ParsedAction): Promise<AppliedAction> {
  const row = verbByName.get(action.verb);
  if (row === undefined) throw new Error(`verb ${action.verb} is not in the table`);
  const { ordinal, verb } = action;
  const entry = { ordinal, verb, args: storedArguments(action), mutating: row.mutating };
  const { held, logger, database, run } = settings;
  let attempts = 0;
  const repeatedly = async <T>(work: () => Promise<T>): Promise<T> =>
    persist(held, logger, async () => {
      attempts += 1;
      return work();
    });
  const done = ({ text, changed }: VerbOutcome): AppliedAction => {
    return { ...pick(entry), ok: true, changed, result: text, error: null };
  };
  try {
    return done(await repeatedly(async () => attempt(settings, action, row, entry)));
  } catch (err) {
    if (err instanceof RunStopped) throw err;
    const error = reasonOf(settings, action, err);
    const recorded =
      !(err instanceof NotRecorded) &&
      (await repeatedly(async () => recordAction(database.db, run, { ...entry, ok: false, error })));
    if (recorded) return { ...pick(entry), ok: false, changed: false, result: null, error };
  }
  // If it is the fence after all, the next write or renewal says so.
  if (attempts > 1) return done({ text: 'done', changed: row.mutating });
  held.stop('lost');
  throw new RunStopped('lost');
}

type Entry = Pick<RunAction, 'ordinal' | 'verb' | 'args' | 'mutating'>;

function pick({ ordinal, verb, args }: Entry): Pick<AppliedAction, 'ordinal' | 'verb' | 'args'> {
  return { ordinal, verb, args };
}

async function attempt(
  settings: ApplySettings,
  action: ParsedAction,
  row: VerbRow,
  entry: Entry,
): Promise<VerbOutcome> {
  const verb = verbs.get(row.name);
  if (!row.available || verb === undefined || !settings.applies(row))
    throw invalid(`verb /${row.name} is not available`);
  if (row.body === 'required' && action.body === null) throw invalid('a fenced body is missing');
  const { database, run, scrubber } = settings;
  if (verb.permission !== undefined) requirePermission(run, verb.permission);
  return withFiles(settings, verb.files?.({ run, action }) ?? [], async (files) =>
    transaction(database, async (tx) => {
      const context = { tx, run, action, files };
      const outcome = await verb.apply(context);
      const text = scrubber.scrub(outcome.text);
      const recorded = await recordAction(tx, run, {
        ...entry,
        ok: true,
        result: bounded(text, RESULT_KEPT),
      });
      if (!recorded) throw new NotRecorded();
      return { ...outcome, text };
    }),
  );
}

/** Stores them for `apply`; what it does not keep goes again, now or by the sweep. */
async function withFiles<T>(
  { storage, database, logger }: ApplySettings,
  files: readonly VerbFile[],
  apply: (files: readonly PlacedFile[]) => Promise<T>,
): Promise<T> {
  const store = new FileStore({ storage, ledger: keyLedger(database.db), logger });
  const place = async (at: number, placed: readonly PlacedFile[]): Promise<T> => {
    const file = files[at];
    if (file === undefined) return apply(placed);
    const { folder, owner, bytes, ...about } = file;
    return store.putBytes([folder, owner], bytes, about, async (one) => place(at + 1, [...placed, one]));
  };
  return place(0, []);
}

/**
 * `run_actions.args`: the line as written (`verbLine` reads it; the tool of an `/mcp:` line stands before its JSON), and
 * the beginning of the body. The text of a turn comes here scrubbed.
 */
function storedArguments({ verb, args, rest, body }: ParsedAction): Record<string, unknown> {
  const written = verb === 'mcp:' ? `${args.positional[0] ?? ''} ${rest}`.trim() : rest;
  const line = bounded(written, LINE_KEPT);
  return body === null ? { line } : { line, body: bounded(body, BODY_KEPT) };
}

/** What the agent is told: refusals in their own words, everything else as a failure that the log explains. */
function reasonOf({ run, logger, scrubber }: ApplySettings, action: ParsedAction, err: unknown): string {
  const refusal = asServiceError(err);
  if (refusal !== null) {
    // Where the specification fixes a body, the words for people are in its message field.
    const words = refusal.extra?.message;
    const message = typeof words === 'string' ? words : refusal.message;
    return bounded(scrubber.scrub(message), RESULT_KEPT);
  }
  if (!(err instanceof NotRecorded)) {
    logger.error('a verb failed', { run_id: run.run_id, verb: action.verb, error: err });
  }
  return 'internal error';
}
