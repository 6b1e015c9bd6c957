/**
 * The instance's state that decides whether a row answers at all: its feature's flag (decisions 10.1) and the license. Kept
 * in memory, so that requests pay nothing for it: read at startup, when a change is signalled, and periodically.
 */
import type { EndpointRow, FlagName } from '@acp/contract';
import { disabledFlags, licenseState, READ_ONLY } from '@acp/core';
import type { Database, Listener } from '@acp/db';
import { forbidden, type Logger, notFound } from '@acp/kernel';

// A trial expires without a signal, and a signal may get lost.
const REFRESH_MS = 10_000;

/** The checks that rows must pass. */
export type InstanceGate = Pick<
  InstanceState,
  'read_only' | 'hasFeature' | 'requireFeature' | 'requireEntitlement'
>;

export const UNRESTRICTED: InstanceGate = {
  read_only: false,
  hasFeature: () => true,
  requireFeature: () => undefined,
  requireEntitlement: () => undefined,
};

export class InstanceState {
  readonly #database: Database;
  readonly #logger: Logger;
  readonly #off: (() => void)[];
  readonly #timer: NodeJS.Timeout;
  #disabled: ReadonlySet<FlagName> = new Set();
  #read_only = false;

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
    this.#timer = setInterval(() => void this.#refreshInTime(), REFRESH_MS).unref();
  }

  get read_only(): boolean {
    return this.#read_only;
  }

  /** Must run before anything is served; throws the database's errors. */
  async refresh(): Promise<void> {
    this.#disabled = new Set(await disabledFlags(this.#database.db));
    this.#read_only = (await licenseState(this.#database.db)).read_only;
  }

  async #refreshInTime(): Promise<void> {
    try {
      await this.refresh();
    } catch (error) {
      this.#logger.warn('flags and license could not be read; trying again', { error });
    }
  }

  /** Whether the feature is enabled: for parts of pages. */
  hasFeature(feature: FlagName): boolean {
    return !this.#disabled.has(feature);
  }

  /** @throws notFound while the flag of the row's feature is off */
  requireFeature({ feature }: Pick<EndpointRow, 'feature'>): void {
    if (feature !== undefined && this.#disabled.has(feature)) throw notFound();
  }

  /** @throws forbidden for a row that changes something while the instance is read-only */
  requireEntitlement(row: Pick<EndpointRow, 'method' | 'tx' | 'while_read_only'>): void {
    if (this.#read_only && isMutating(row) && row.while_read_only !== true) throw forbidden(READ_ONLY);
  }

  close(): void {
    clearInterval(this.#timer);
    for (const off of this.#off) off();
  }
}

/** Reading an inbox consumes it, so that counts as a change too. */
function isMutating({ method, tx }: Pick<EndpointRow, 'method' | 'tx'>): boolean {
  return method !== 'GET' || tx === 'write';
}
