import { verbByName } from '@acp/contract';
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
import { persist } from '../execution/persist.ts';
import type { ParsedAction } from './parse.ts';
import { boundedBy } from './prepare.ts';
import { requirePermission } from './resolve.ts';
import type { Commit, Verb, VerbFile, VerbOutcome, WorkspaceFiles } from './verb.ts';
import { verbs } from './verbs.ts';

interface ApplySettings {
  database: Database;
  logger: Logger;
  run: ClaimedRun;
  held: HeldRun;
  scrubber: Scrubber;
  /** Where verbs that write files put their bytes. */
  storage: Storage;
  /** Which verbs the kind of the run obeys. */
  applies: (verb: VerbRow) => boolean;
  tools: ToolRegistry;
  /** Null where the run's program has none. */
  workspace: WorkspaceFiles | null;
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
 * Applies one verb: what it prepares outside, then, in its own transaction, what it writes here together with its row in
 * `run_actions`. So it takes effect once, and only while the fence holds (decisions 8.3). A refusal is recorded and never
 * fails the run. Throws RunStopped.
 */
export async function applyAction(settings: ApplySettings, action: ParsedAction): Promise<AppliedAction> {
  const row = verbByName.get(action.verb);
  if (row === undefined) throw new Error(`verb ${action.verb} is not in the table`);
  return new Application(settings, action, row).apply();
}

/** What can be said of a verb before it does anything. @throws invalid, forbidden */
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
  return verb;
}

type Entry = Pick<RunAction, 'ordinal' | 'verb' | 'args' | 'mutating'>;

class Application {
  readonly #set: ApplySettings;
  readonly #action: ParsedAction;
  readonly #row: VerbRow;
  readonly #entry: Entry;
  /** Its row is there already: something may have taken effect outside. */
  #begun = false;
  /** What the verb came to, for the case that its commit takes effect and only the answer gets lost. */
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
    // If it is the fence after all, the next write or renewal says so.
    if (this.#commits > 1) return this.#done(this.#outcome ?? { text: 'done', changed: this.#row.mutating });
    held.stop('lost');
    throw new RunStopped('lost');
  }

  #permitted(): Verb {
    const { run, applies } = this.#set;
    return assertPermitted({ run, applies, action: this.#action, row: this.#row });
  }

  /** Never repeated: what it does outside happens once. */
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
    // Of a repeated attempt the row may be one of our own.
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

  /** Null where the refusal could not be recorded. */
  async #refuse(err: unknown): Promise<AppliedAction | null> {
    const reason = reasonOf(this.#set, this.#action, err);
    const error = this.#begun && !isAnswer(err) ? `${reason}; whether it took effect is not known` : reason;
    const recorded = await this.#repeatedly(async () =>
      this.#record(this.#set.database.db, { ok: false, error, result: null }),
    );
    return recorded ? { ...pick(this.#entry), ok: false, changed: false, result: null, error } : null;
  }

  /** A run that was called off in the middle of a verb tells its agent next time; one that is lost says so by its row. */
  async #leaveWord({ why }: RunStopped): Promise<void> {
    if (!this.#begun || why !== 'cancelled' || !this.#set.held.ours) return;
    const error = 'the run was cancelled meanwhile; whether it took effect is not known';
    await this.#repeatedly(async () =>
      this.#record(this.#set.database.db, { ok: false, error, result: null }),
    );
  }

  async #repeatedly<T>(work: () => Promise<T>, counts = true): Promise<T> {
    const { held, logger } = this.#set;
    return persist(held, logger, async () => {
      if (counts) this.#commits += 1;
      return work();
    });
  }

  #done({ text, changed }: VerbOutcome): AppliedAction {
    return { ...pick(this.#entry), ok: true, changed, result: text, error: null };
  }
}

/** Somebody said no, instead of saying nothing. */
function isAnswer(err: unknown): boolean {
  const refusal = asServiceError(err);
  return refusal !== null && refusal.kind !== 'unavailable';
}

function pick({ ordinal, verb, args }: Entry): Pick<AppliedAction, 'ordinal' | 'verb' | 'args'> {
  return { ordinal, verb, args };
}

/** Stores them for `commit`; what it does not keep goes again, now or by the sweep. */
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
