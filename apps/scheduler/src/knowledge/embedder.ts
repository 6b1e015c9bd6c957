import { AdapterError, embedTexts, secretsOf } from '@acp/adapters';
import type { Pricing, Provider } from '@acp/contract';
import {
  companyPrices,
  embeddingModel,
  type EmbeddingClaim,
  embeddingsProvider,
  isCompanyOverBudget,
  isPriced,
  openProvider,
  OtherDimensions,
  type Passage,
  passagesToEmbed,
  pauseProvider,
  postponeEmbedding,
  priceOf,
  type QuestionVector,
  recordServiceCost,
  releaseEmbedding,
  vectorSpaceOf,
  storeVectors,
  vectorSpace,
} from '@acp/core';
import { type Database, transaction } from '@acp/db';
import { type Config, type Logger, Scrubber, ServiceError, type Vault } from '@acp/kernel';
import { specOf } from '../execution/provider.ts';

export interface EmbedderOptions {
  database: Database;
  logger: Logger;
  vault: Vault;
  config: Config;
  pricing: Pricing;
}

/** Number of texts per call; more are sent in the next call. */
const BATCH = 96;
/** Number of batches before another company has its turn. */
const BATCHES = 20;
/** Rates of unpriced models: far below those of models that generate text, as is usual among vendors. */
const DEFAULT_RATES = { InputPer1K: 0.0001, OutputPer1K: 0 };
const CACHED_QUESTIONS = 500;

/** A provider that may be called now, and what it is called with. */
interface Opened {
  provider: Provider;
  space: string;
  embed: (texts: readonly string[], signal: AbortSignal) => ReturnType<typeof embedTexts>;
}

/** Has embeddings computed by the companies' own providers (specification, Providers). */
export class Embedder {
  readonly #options: EmbedderOptions;
  /** Keyed by space and question, least recently used first. */
  readonly #questions = new Map<string, Float32Array>();

  constructor(options: EmbedderOptions) {
    this.#options = options;
  }

  /** Embeds some batches of a claimed company; errors are recorded in its row. @param signal if aborted, it is claimed again */
  async embedPassages(claim: EmbeddingClaim, signal: AbortSignal): Promise<void> {
    const { database } = this.#options;
    try {
      const done = await this.#embedBatches(claim, signal);
      await transaction(database, async (tx) => releaseEmbedding(tx, claim, done));
    } catch (error) {
      if (signal.aborted) return;
      await this.#postpone(claim, error);
    }
  }

  /** Null if there is nothing to compare with, or the provider fails: the caller falls back to full-text search. */
  async embedQuestion(
    company_id: string,
    question: string,
    signal: AbortSignal,
  ): Promise<QuestionVector | null> {
    const { db } = this.#options.database;
    try {
      const space = await vectorSpace(db, company_id);
      if (space === null) return null;
      const opened = await this.#open(company_id);
      if (opened === null || opened.space !== space) return null;
      const key = `${space} ${question}`;
      const known = this.#questions.get(key);
      const vector = known ?? (await opened.embed([question], signal)).vectors[0]!;
      this.#keep(key, vector);
      return { space, vector };
    } catch (error) {
      // A search without embeddings is better than none.
      if (!(error instanceof AdapterError)) throw error;
      this.#options.logger.warn('a question could not be embedded', { company_id, reason: error.message });
      return null;
    }
  }

  /** @returns whether nothing is left */
  async #embedBatches(claim: EmbeddingClaim, signal: AbortSignal): Promise<boolean> {
    const { database } = this.#options;
    const { company_id } = claim;
    const opened = await this.#open(company_id);
    // A new provider triggers the next attempt itself.
    if (opened === null) return true;
    let after: string | null = null;
    for (let batch = 0; batch < BATCHES; batch += 1) {
      const passages: Passage[] = await passagesToEmbed(
        database.db,
        { company_id, space: opened.space },
        after,
        BATCH,
      );
      if (passages.length === 0) return true;
      if (await isCompanyOverBudget(database.db, company_id))
        throw new AdapterError('quota', 'budget exceeded');
      const texts = passages.map(({ text }) => text);
      const { vectors, tokens } = await opened.embed(texts, signal);
      const rows = passages.map(({ id }, at) => ({ chunk_id: id, vector: vectors[at]! }));
      await transaction(database, async (tx) => {
        await storeVectors(tx, claim, opened.provider, rows);
        const company = await companyPrices(tx, company_id);
        await recordServiceCost(tx, company_id, this.#costOf(opened.provider, tokens, company));
      });
      after = passages.at(-1)!.id;
    }
    return false;
  }

  #costOf(provider: Provider, input_tokens: number, company: Pricing) {
    const model = embeddingModel(provider);
    const usage = { input_tokens, output_tokens: 0, cached_tokens: 0 };
    const prices = { file: this.#options.pricing, company };
    return {
      provider: provider.adapter_type,
      model,
      ...usage,
      cost_usd: priceOf(prices, model, usage, DEFAULT_RATES),
      price_estimated: !isPriced(prices, model),
    };
  }

  /** Null without a suitable provider. @throws AdapterError while it is paused, or if its key can't be decrypted */
  async #open(company_id: string): Promise<Opened | null> {
    const { database, vault, config } = this.#options;
    const provider = await embeddingsProvider(database.db, company_id);
    if (provider === null) return null;
    const own = await this.#unsealed(company_id, provider, vault);
    if (own.paused_until !== null)
      throw new AdapterError('quota', `provider ${own.name} is paused`, { reset_at: own.paused_until });
    const spec = specOf(own, config, { database, company_id });
    const scrubber = new Scrubber();
    for (const secret of secretsOf(spec)) scrubber.addSecret(secret);
    const embed: Opened['embed'] = async (texts, signal) => {
      try {
        return await embedTexts(spec, embeddingModel(provider), texts, signal);
      } catch (error) {
        if (error instanceof AdapterError && error.category === 'quota')
          await transaction(database, async (tx) =>
            pauseProvider(tx, provider.id, {
              reset_at: error.reset_at,
              reason: scrubber.scrub(error.message),
            }),
          );
        throw error;
      }
    };
    return { provider, space: vectorSpaceOf(provider), embed };
  }

  async #unsealed(company_id: string, provider: Provider, vault: Vault) {
    try {
      const own = await openProvider(this.#options.database.db, company_id, provider.id, vault);
      if (own !== undefined) return own;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      throw new AdapterError('config', error.message);
    }
    throw new AdapterError('config', 'the provider is gone');
  }

  async #postpone(claim: EmbeddingClaim, error: unknown): Promise<void> {
    const { database, logger } = this.#options;
    const known = error instanceof AdapterError || error instanceof OtherDimensions ? error.message : null;
    if (known === null)
      logger.error('passages could not be embedded', { company_id: claim.company_id, error });
    const why = known ?? 'internal error';
    const retry_at = error instanceof AdapterError ? error.reset_at : null;
    await transaction(database, async (tx) => postponeEmbedding(tx, claim, { error: why, retry_at }));
  }

  #keep(key: string, vector: Float32Array): void {
    this.#questions.delete(key);
    this.#questions.set(key, vector);
    const [oldest] = this.#questions.keys();
    if (this.#questions.size > CACHED_QUESTIONS && oldest !== undefined) this.#questions.delete(oldest);
  }
}
