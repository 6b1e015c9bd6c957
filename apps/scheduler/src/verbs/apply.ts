import type { VerbRow } from '@acp/contract';
import { beginAction, completeAction, keyLedger, recordAction } from '@acp/core';
import type { ClaimedRun, RunAction, ToolRegistry } from '@acp/core';
import { asServiceError, transaction } from '@acp/db';
import type { Database, Tx } from '@acp/db';
import { bounded, invalid } from '@acp/kernel';
import type { Logger, Scrubber } from '@acp/kernel';
import { FileStore, type PlacedFile, type Storage } from '@acp/storage';
import { RunStopped } from '../execution/held-run.ts';
import type { HeldRun } from '../execution/held-run.ts';
import { retryTransient } from '../execution/retry-transient.ts';
import type { ParsedAction } from './parse.ts';
import { boundedBy } from './prepare.ts';
import { requireKnownKeys, requirePermission, rowOf } from './resolve.ts';
import type { Commit, Verb, VerbFile, VerbOutcome, WorkspaceFiles } from './verb.ts';
import { verbs } from './verbs.ts';

interface ApplySettings {
  database: Database;
  logger: Logger;
  run: ClaimedRun;
  held: HeldRun;
  scrubber: Scrubber;
  /** Stores the bytes of verbs that write files. */
  storage: Storage;
  /** Which verbs the run's kind obeys. */
  applies: (verb: VerbRow) => boolean;
  tools: ToolRegistry;
  /** Null if the run's program has none. */
  workspace: WorkspaceFiles | null;
}

/** The outcome of one verb, as shown in the transcript, the next turn and the next prompt. */
export interface AppliedAction {
  ordinal: number;
  verb: string;
  args: Record<string, unknown>;
  ok: boolean;
  /** Something was changed. */
  changed: boolean;
  /** For a read verb, the full text for the next turn. */
  result: string | null;
  error: string | null;
}

/** In characters, stored per verb. */
const BODY_KEPT = 2000;
const LINE_KEPT = 1000;
const RESULT_KEPT = 1000;

/** The fence is lost, or the ordinal already exists: an earlier attempt took effect, but its answer was lost. */
class NotRecorded extends Error {}

/**
 * Applies one verb: first its outside effects, then, in a transaction of its own, its writes here along with its row in
 * `run_actions`. So it takes effect once, and only while the fence is valid (decisions 8.3). A refusal is recorded and
 * never fails the run. Throws RunStopped.
 */
export async function applyAction(settings: ApplySettings, action: ParsedAction): Promise<AppliedAction> {
  return new Application(settings, action, rowOf(action.verb)).apply();
}

/** Checks everything about a verb that can be checked before it does anything. @throws invalid, forbidden */
export function assertPermitted({
  run,
  action,
  row,
  applies,
}: Pick<ApplySettings, 'run' | 'applies'> & { action: ParsedAction; row: VerbRow }): Verb {
  const verb = verbs.get(row.name);
  if (!row.available || verb === undefined || !applies(row))
    throw invalid(`verb /${row.name} is not available`);
  if (row.body === 'required' && action.body === null) throw invalid('a fenced body is missing');
  if (verb.permission !== undefined) requirePermission(run, verb.permission);
  requireKnownKeys(row, action);
  return verb;
}

type Entry = Pick<RunAction, 'ordinal' | 'verb' | 'args' | 'mutating'>;

class Application {
  readonly #set: ApplySettings;
  readonly #action: ParsedAction;
  readonly #row: VerbRow;
  readonly #entry: Entry;
  /** Its row already exists: something may have taken effect outside. */
  #begun = false;
  /** The verb's outcome, needed if its commit takes effect but the answer is lost. */
  #outcome: VerbOutcome | undefined;
  #commits = 0;

  constructor(settings: ApplySettings, action: ParsedAction, row: VerbRow) {
    this.#set = settings;
    this.#action = action;
    this.#row = row;
    const { ordinal, verb } = action;
    this.#entry = { ordinal, verb, args: storedArguments(action), mutating: row.mutating };
  }

  async apply(): Promise<AppliedAction> {
    const { held } = this.#set;
    try {
      const verb = this.#permitted();
      const commit = verb.prepare === undefined ? verb.commit : await this.#prepare(verb.prepare);
      held.assertHeld();
      return this.#done(await this.#repeatedly(async () => this.#commit(verb, commit)));
    } catch (err) {
      if (err instanceof RunStopped) {
        await this.#leaveWord(err);
        throw err;
      }
      if (!(err instanceof NotRecorded)) {
        const refused = await this.#refuse(err);
        if (refused !== null) return refused;
      }
    }
    // If the fence is lost after all, the next write or renewal reports that.
    if (this.#commits > 1) return this.#done(this.#outcome ?? { text: 'done', changed: this.#row.mutating });
    held.stop('lost');
    throw new RunStopped('lost');
  }

  #permitted(): Verb {
    const { run, applies } = this.#set;
    return assertPermitted({ run, applies, action: this.#action, row: this.#row });
  }

  /** Never repeated, so that outside effects happen only once. */
  async #prepare(prepare: NonNullable<Verb['prepare']>): Promise<Commit> {
    const { database, run, held, tools } = this.#set;
    const action = this.#action;
    return prepare({
      database,
      run,
      action,
      tools,
      signal: held.signal,
      call_id: `${run.run_id}:${action.ordinal}`,
      within: boundedBy(held),
      begin: async () => this.#begin(),
    });
  }

  async #begin(): Promise<void> {
    const { database, run } = this.#set;
    let attempts = 0;
    const begun = await this.#repeatedly(async () => {
      attempts += 1;
      return beginAction(database.db, run, this.#entry);
    }, false);
    // On a repeated attempt the row may be our own.
    if (!begun && attempts === 1) throw new NotRecorded();
    this.#begun = true;
  }

  async #commit({ files: filesOf, into_workspace }: Verb, commit: Commit): Promise<VerbOutcome> {
    const { database, run, scrubber, workspace } = this.#set;
    const action = this.#action;
    const in_workspace = workspace !== null;
    return withFiles(this.#set, filesOf?.({ run, action, in_workspace }) ?? [], async (files) => {
      const own = into_workspace?.({ action });
      if (own !== undefined) await workspace?.write(own.path, own.bytes);
      return transaction(database, async (tx) => {
        const outcome = await commit({ tx, run, action, files, in_workspace });
        const text = scrubber.scrub(outcome.text);
        this.#outcome = { ...outcome, text };
        if (!(await this.#record(tx, { ok: true, result: bounded(text, RESULT_KEPT) })))
          throw new NotRecorded();
        return this.#outcome;
      });
    });
  }

  async #record(tx: Tx, end: Pick<RunAction, 'ok' | 'result' | 'error'>): Promise<boolean> {
    const { run } = this.#set;
    return (this.#begun ? completeAction : recordAction)(tx, run, { ...this.#entry, ...end });
  }

  /** Null if the refusal could not be recorded. */
  async #refuse(err: unknown): Promise<AppliedAction | null> {
    const reason = reasonOf(this.#set, this.#action, err);
    const error = this.#begun && !isAnswer(err) ? `${reason}; whether it took effect is not known` : reason;
    const recorded = await this.#repeatedly(async () =>
      this.#record(this.#set.database.db, { ok: false, error, result: null }),
    );
    return recorded ? { ...pick(this.#entry), ok: false, changed: false, result: null, error } : null;
  }

  /** Notes for the agent's next run that this one was cancelled in the middle of a verb; a lost run's row shows it by itself. */
  async #leaveWord({ why }: RunStopped): Promise<void> {
    if (!this.#begun || why !== 'cancelled' || !this.#set.held.ours) return;
    const error = 'the run was cancelled meanwhile; whether it took effect is not known';
    await this.#repeatedly(async () =>
      this.#record(this.#set.database.db, { ok: false, error, result: null }),
    );
  }

  async #repeatedly<T>(work: () => Promise<T>, counts = true): Promise<T> {
    const { held, logger } = this.#set;
    return retryTransient(held, logger, async () => {
      if (counts) this.#commits += 1;
      return work();
    });
  }

  #done({ text, changed }: VerbOutcome): AppliedAction {
    return { ...pick(this.#entry), ok: true, changed, result: text, error: null };
  }
}

/** An explicit refusal, as opposed to no answer. */
function isAnswer(err: unknown): boolean {
  const refusal = asServiceError(err);
  return refusal !== null && refusal.kind !== 'unavailable';
}

function pick({ ordinal, verb, args }: Entry): Pick<AppliedAction, 'ordinal' | 'verb' | 'args'> {
  return { ordinal, verb, args };
}

/** Stores the files for `commit`; those it does not keep are deleted again, now or by the sweep. */
async function withFiles<T>(
  { storage, database, logger }: ApplySettings,
  files: readonly VerbFile[],
  commit: (files: readonly PlacedFile[]) => Promise<T>,
): Promise<T> {
  const store = new FileStore({ storage, ledger: keyLedger(database.db), logger });
  const place = async (at: number, placed: readonly PlacedFile[]): Promise<T> => {
    const file = files[at];
    if (file === undefined) return commit(placed);
    const { folder, owner, bytes, ...about } = file;
    return store.putBytes([folder, owner], bytes, about, async (one) => place(at + 1, [...placed, one]));
  };
  return place(0, []);
}

/**
 * Builds `run_actions.args`: the line as written (`verbLine` reads it; the tool of an `/mcp:` line precedes its JSON), and
 * the beginning of the body. The text of a turn is already scrubbed here.
 */
function storedArguments({ verb, args, rest, body }: ParsedAction): Record<string, unknown> {
  const written = verb === 'mcp:' ? `${args.positional[0] ?? ''} ${rest}`.trim() : rest;
  const line = bounded(written, LINE_KEPT);
  return body === null ? { line } : { line, body: bounded(body, BODY_KEPT) };
}

/** The reason shown to the agent: a refusal's own message; anything else is a failure that the log explains. */
function reasonOf({ run, logger, scrubber }: ApplySettings, action: ParsedAction, err: unknown): string {
  const refusal = asServiceError(err);
  if (refusal !== null) {
    // If the specification fixes the body, the human-readable text is in its message field.
    const words = refusal.extra?.message;
    const message = typeof words === 'string' ? words : refusal.message;
    return bounded(scrubber.scrub(message), RESULT_KEPT);
  }
  if (!(err instanceof NotRecorded)) {
    logger.error('a verb failed', { run_id: run.run_id, verb: action.verb, error: err });
  }
  return 'internal error';
}
