import { giveUpSource, indexNextSource, recallKnowledge, SourceNotCut } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import type { Logger } from '@acp/kernel';
import type { Recall } from '../execution/kinds/execution-kind.ts';

interface KeeperOptions {
  database: Database;
  logger: Logger;
}

/**
 * Keeps what the search of knowledge looks at in step with what is written down. Any number of processes may: a source
 * is locked while it is cut.
 */
export class KnowledgeKeeper {
  readonly #options: KeeperOptions;
  readonly #stopping = new AbortController();
  #working: Promise<void> | undefined;
  /** The company that had its turn last. */
  #last: string | null = null;

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  /** Something has changed. What comes while it is at work is seen by the next kick. */
  kick(): void {
    if (this.#working !== undefined || this.#stopping.signal.aborted) return;
    this.#working = this.#indexAll()
      // The next kick tries again: a source that can't be cut waits in the table.
      .catch((error: unknown) =>
        this.#options.logger.warn('knowledge could not be brought up to date', { error }),
      )
      .finally(() => (this.#working = undefined));
  }

  /** What a prompt is told. */
  readonly recall: Recall = async (company_id, query) =>
    recallKnowledge(this.#options.database.db, company_id, query);

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#working;
  }

  async #indexAll(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const company = await this.#indexNext();
      if (company === undefined) return;
      this.#last = company;
    }
  }

  async #indexNext(): Promise<string | undefined> {
    const { database, logger } = this.#options;
    try {
      return await transaction(database, async (tx) => indexNextSource(tx, this.#last));
    } catch (error) {
      if (!(error instanceof SourceNotCut)) throw error;
      logger.error('a source of knowledge was given up', { error });
      await transaction(database, async (tx) => giveUpSource(tx, error.source));
      return error.source.company_id;
    }
  }
}
