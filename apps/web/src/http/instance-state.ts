/**
 * The instance's state that decides whether a row answers at all: its feature's flag (decisions 10.1) and the license; and the
 * emergency stop, which pages speak of. Kept
 * in memory, so that requests pay nothing for it: read at startup, when a change is signalled, when the license ends, and while
 * there are requests, in the background. Without requests nothing is read, so the first one after a pause waits for it.
 */
import type { EndpointRow, FlagName } from '@acp/contract';
import { READ_ONLY, readGate } from '@acp/core';
import type { Database, Listener } from '@acp/db';
import { forbidden, type Logger, notFound } from '@acp/kernel';

// A signal may get lost.
const REFRESH_MS = 10_000;
// Without requests for this long, nobody has read the state since: it may have been wrong for hours.
const PAUSE_MS = 2 * REFRESH_MS;
// By the database's clock, which may be behind ours: then it is looked at again.
const AFTER_END_MS = 100;
const LOOK_AGAIN_MS = 5000;
// Timers can't be longer than 24 days.
const LONGEST_MS = 24 * 3600 * 1000;

/** The checks that rows must pass. */
export type InstanceGate = Pick<
  InstanceState,
  'read_only' | 'runs_paused' | 'hasFeature' | 'requireFeature' | 'requireEntitlement' | 'afterPause'
>;

export const UNRESTRICTED: InstanceGate = {
  read_only: false,
  runs_paused: false,
  hasFeature: () => true,
  requireFeature: () => undefined,
  requireEntitlement: () => undefined,
  afterPause: () => undefined,
};

export class InstanceState {
  readonly #database: Database;
  readonly #logger: Logger;
  readonly #off: (() => void)[];
  #end: NodeJS.Timeout | undefined;
  /** When a reading began, and when the last one did that has succeeded. */
  #asked_at = 0;
  #read_at = 0;
  #catching_up: Promise<void> | undefined;
  #begun = 0;
  #applied = 0;
  #closed = false;
  #disabled: ReadonlySet<FlagName> = new Set();
  #read_only = false;
  #runs_paused = false;

  constructor({
    database,
    logger,
    listener,
  }: {
    database: Database;
    logger: Logger;
    listener?: Listener | undefined;
  }) {
    this.#database = database;
    this.#logger = logger;
    this.#off = [
      listener?.on('instance', () => void this.#refreshInTime()),
      listener?.onReconnect(() => void this.#refreshInTime()),
    ].filter((off) => off !== undefined);
  }

  get read_only(): boolean {
    this.#keepFresh();
    return this.#read_only;
  }

  /** Whether nothing starts: for pages. */
  get runs_paused(): boolean {
    this.#keepFresh();
    return this.#runs_paused;
  }

  /** Must run before anything is served; throws the database's errors. */
  async refresh(): Promise<void> {
    const at = (this.#asked_at = performance.now());
    const reading = (this.#begun += 1);
    const { disabled, read_only, runs_paused, expires_at } = await readGate(this.#database.db);
    // Of two readings at once, the one that began later has seen more, even if it is answered first.
    if (reading < this.#applied) return;
    this.#applied = reading;
    this.#read_at = at;
    this.#disabled = new Set(disabled);
    this.#read_only = read_only;
    this.#runs_paused = runs_paused;
    this.#refreshAtEnd(read_only ? null : expires_at);
  }

  /** What the first requests after a pause or an own change wait for; undefined while the state is fresh. Rejects with the database's errors. */
  afterPause(): Promise<void> | undefined {
    if (performance.now() - this.#read_at > PAUSE_MS && !this.#catching_up) void this.#catchUp();
    return this.#catching_up;
  }

  /** Called when this process has changed flags or license: requests wait until the change has been read. */
  outdate(): void {
    // A reading in progress may have begun before the change.
    void this.#catchUp();
  }

  async #catchUp(): Promise<void> {
    const reading = this.refresh().finally(() => {
      if (this.#catching_up === reading) this.#catching_up = undefined;
    });
    this.#catching_up = reading;
    await this.#orWarn(reading);
  }

  #refreshAtEnd(end: Date | null): void {
    clearTimeout(this.#end);
    if (end === null || this.#closed) return;
    const left = end.getTime() - Date.now();
    const ms = left <= 0 ? LOOK_AGAIN_MS : Math.min(left + AFTER_END_MS, LONGEST_MS);
    this.#end = setTimeout(() => void this.#refreshInTime(), ms).unref();
  }

  /** Called by whatever reads the state; the reader itself does not wait. */
  #keepFresh(): void {
    if (performance.now() - this.#asked_at > REFRESH_MS) void this.#refreshInTime();
  }

  async #refreshInTime(): Promise<void> {
    await this.#orWarn(this.refresh());
  }

  async #orWarn(reading: Promise<void>): Promise<void> {
    try {
      await reading;
    } catch (error) {
      this.#logger.warn('flags and license could not be read; trying again', { error });
    }
  }

  /** Whether the feature is enabled: for parts of pages. */
  hasFeature(feature: FlagName): boolean {
    this.#keepFresh();
    return !this.#disabled.has(feature);
  }

  /** @throws notFound while the flag of the row's feature is off */
  requireFeature({ feature }: Pick<EndpointRow, 'feature'>): void {
    this.#keepFresh();
    if (feature !== undefined && this.#disabled.has(feature)) throw notFound();
  }

  /** @throws forbidden for a row that changes something while the instance is read-only */
  requireEntitlement(row: Pick<EndpointRow, 'method' | 'tx' | 'while_read_only'>): void {
    if (this.read_only && isMutating(row) && row.while_read_only !== true) throw forbidden(READ_ONLY);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#end);
    for (const off of this.#off) off();
  }
}

/** Reading an inbox consumes it, so that counts as a change too. */
function isMutating({ method, tx }: Pick<EndpointRow, 'method' | 'tx'>): boolean {
  return method !== 'GET' || tx === 'write';
}
