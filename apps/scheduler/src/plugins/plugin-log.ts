import { appendPluginLines, type PluginLine } from '@acp/core';
import type { Database } from '@acp/db';
import type { Logger, Scrubber } from '@acp/kernel';

const EVERY_MS = 500;
/** Lines per second, and the largest burst. */
const RATE = 10;
const BURST = 100;
/** Of a line, in characters. */
const LONGEST = 10_000;

type Line = Omit<PluginLine, 'plugin_id'>;

/** The event log of one plugin: written in batches, and no faster than is useful to a reader. */
export class PluginLog {
  readonly #plugin_id: string;
  readonly #database: Database;
  readonly #logger: Logger;
  /** Knows the secrets that were passed to the plugin. */
  scrubber: Scrubber;
  #lines: PluginLine[] = [];
  #left = BURST;
  #leftOut = 0;
  #at = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(
    plugin_id: string,
    { database, logger }: { database: Database; logger: Logger },
    scrubber: Scrubber,
  ) {
    this.#plugin_id = plugin_id;
    this.#database = database;
    this.#logger = logger;
    this.scrubber = scrubber;
  }

  add(line: Line): void {
    const now = performance.now();
    this.#left = Math.min(BURST, this.#left + ((now - this.#at) / 1000) * RATE);
    this.#at = now;
    if (this.#left < 1) this.#leftOut += 1;
    else {
      this.#left -= 1;
      // Scrubbed before it is cut, since a cut could leave part of a secret.
      const message = this.scrubber.scrub(line.message).slice(0, LONGEST);
      this.#lines.push({ ...line, message, plugin_id: this.#plugin_id });
    }
    this.#timer ??= setTimeout(() => void this.flush(), EVERY_MS).unref();
  }

  /** Never rejects. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const lines = this.#lines.splice(0);
    if (this.#leftOut > 0)
      lines.push({
        plugin_id: this.#plugin_id,
        type: 'log',
        level: 'warn',
        message: `${this.#leftOut} lines were left out: it says too much`,
      });
    this.#leftOut = 0;
    this.#writing = this.#writing.then(async () =>
      appendPluginLines(this.#database.db, lines).catch((error: unknown) =>
        this.#logger.warn('the log of a plugin could not be written', { plugin_id: this.#plugin_id, error }),
      ),
    );
    await this.#writing;
  }
}
