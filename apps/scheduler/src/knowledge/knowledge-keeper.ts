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

/** Companies that one process embeds concurrently: a slow provider does not hold up the others. */
const MAX_AT_ONCE = 4;
/** Longest that a prompt or a reader waits for the embedding of a question. */
const QUESTION_MS = 4000;
/** Maximum length of a question in characters: models accept no more than some thousand tokens. */
const LONGEST_QUESTION = 4000;

/**
 * Keeps the search index of knowledge in step with its sources. Any number of processes may run it: a source is locked
 * while it is split into passages, and a company's embeddings are claimed.
 */
export class KnowledgeKeeper {
  readonly #options: EmbedderOptions;
  readonly #embedder: Embedder;
  readonly #stopping = new AbortController();
  readonly #embedding = new Set<Promise<void>>();
  #working: Promise<void> | undefined;
  /** The company that had the last turn. */
  #last: string | null = null;

  constructor(options: EmbedderOptions) {
    this.#options = options;
    this.#embedder = new Embedder(options);
  }

  /** Call after a change. Changes during a pass are seen by the next kick. */
  kick(): void {
    if (this.#working !== undefined || this.#stopping.signal.aborted) return;
    this.#working = this.#bringUpToDate()
      // The next kick tries again: unfinished work stays in the tables.
      .catch((error: unknown) => this.#options.logger.warn('knowledge could not be updated', { error }))
      .finally(() => (this.#working = undefined));
  }

  /** The knowledge that a prompt includes. */
  readonly recall: Recall = async (company_id, query, signal) => {
    const vector = await this.embedQuestion(company_id, query.question, signal);
    return recallKnowledge(this.#options.database.db, company_id, { ...query, vector });
  };

  /** Null if the caller must fall back to full-text search. */
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
        // The claim expires, and another attempt is made later.
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
