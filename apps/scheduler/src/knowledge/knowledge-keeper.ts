import {
  claimEmbedding,
  giveUpSource,
  indexNextSource,
  type QuestionVector,
  recallKnowledge,
  SourceNotCut,
} from '@acp/core';
import { transaction } from '@acp/db';
import type { Recall } from '../execution/kinds/execution-kind.ts';
import { Embedder, type EmbedderOptions } from './embedder.ts';

/** Companies whose passages one process has embedded at once: a slow provider does not hold up the others. */
const MAX_AT_ONCE = 4;
/** A prompt, or a reader, does not wait longer for the embedding of a question. */
const QUESTION_MS = 4000;
/** In characters, of a question: models take no more than some thousand tokens. */
const LONGEST_QUESTION = 4000;

/**
 * Keeps what the search of knowledge looks at in step with what is written down. Any number of processes may: a source
 * is locked while it is cut, a company's embeddings are claimed.
 */
export class KnowledgeKeeper {
  readonly #options: EmbedderOptions;
  readonly #embedder: Embedder;
  readonly #stopping = new AbortController();
  readonly #embedding = new Set<Promise<void>>();
  #working: Promise<void> | undefined;
  /** The company that had its turn last. */
  #last: string | null = null;

  constructor(options: EmbedderOptions) {
    this.#options = options;
    this.#embedder = new Embedder(options);
  }

  /** Something has changed. What comes while it is at work is seen by the next kick. */
  kick(): void {
    if (this.#working !== undefined || this.#stopping.signal.aborted) return;
    this.#working = this.#bringUpToDate()
      // The next kick tries again: what is not done waits in the tables.
      .catch((error: unknown) =>
        this.#options.logger.warn('knowledge could not be brought up to date', { error }),
      )
      .finally(() => (this.#working = undefined));
  }

  /** What a prompt is told. */
  readonly recall: Recall = async (company_id, query, signal) => {
    const vector = await this.embedQuestion(company_id, query.question, signal);
    return recallKnowledge(this.#options.database.db, company_id, { ...query, vector });
  };

  /** Null where words have to do. */
  async embedQuestion(
    company_id: string,
    question: string,
    signal: AbortSignal,
  ): Promise<QuestionVector | null> {
    const limited = AbortSignal.any([signal, this.#stopping.signal, AbortSignal.timeout(QUESTION_MS)]);
    const asked = question.slice(0, LONGEST_QUESTION).toWellFormed();
    return this.#embedder.embedQuestion(company_id, asked, limited);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#working;
    await Promise.all(this.#embedding);
  }

  async #bringUpToDate(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const company = await this.#indexNext();
      if (company === undefined) break;
      this.#last = company;
    }
    while (this.#embedding.size < MAX_AT_ONCE && !this.#stopping.signal.aborted) {
      const claim = await transaction(this.#options.database, claimEmbedding);
      if (claim === undefined) return;
      const done = this.#embedder
        .embedPassages(claim, this.#stopping.signal)
        // Its claim lapses: it is tried later.
        .catch((error: unknown) => this.#options.logger.warn('passages were not embedded', { error }))
        .finally(() => this.#embedding.delete(done));
      this.#embedding.add(done);
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
