import type { JobName } from '@acp/contract';
import type { Database } from '@acp/db';
import type { Logger } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { BOSS_SCHEMA } from './boss.ts';
import { messageOf } from './completions.ts';

/** How long a job whose kick was lost may wait. */
export const POLL_MS = 30_000;
const RETRY_MS = 5000;

/**
 * The fallback in case kicks are lost: one statement asks which queues have jobs to fetch, and their consumers are kicked.
 * @returns those of the queues
 */
export async function queuesWithJobs(database: Database, queues: readonly string[]): Promise<string[]> {
  const { rows } = await database.db.execute<{ name: string }>(sql`
    select q.name from jsonb_array_elements_text(${JSON.stringify(queues)}::jsonb) as q(name)
    where exists (select from ${sql.raw(BOSS_SCHEMA)}.job j
      where j.name = q.name and j.state < 'active' and not j.blocked and j.start_after <= now())`);
  return rows.map(({ name }) => name);
}

interface Kickable {
  readonly job: JobName;
  kick(): void;
}

interface PollSettings {
  database: Database;
  /** Those of now: more may be added later. */
  consumers: readonly Kickable[];
  logger?: Logger | undefined;
  every_ms?: number;
}

/** Polls until stopped. */
export class JobPoll {
  readonly #set: PollSettings;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(settings: PollSettings) {
    this.#set = settings;
    this.#wait(this.#everyMs * Math.random());
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  get #everyMs(): number {
    return this.#set.every_ms ?? POLL_MS;
  }

  #wait(ms: number): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => void this.#look(), ms).unref();
  }

  async #look(): Promise<void> {
    this.#wait(await this.#kickWaiting());
  }

  /** @returns the pause until the next time */
  async #kickWaiting(): Promise<number> {
    const { database, consumers, logger } = this.#set;
    try {
      const waiting = await queuesWithJobs(
        database,
        consumers.map(({ job }) => job),
      );
      for (const consumer of consumers) if (waiting.includes(consumer.job)) consumer.kick();
      return this.#everyMs;
    } catch (err) {
      logger?.warn('the queues could not be polled', { error: messageOf(err) });
      return Math.min(RETRY_MS, this.#everyMs);
    }
  }
}
