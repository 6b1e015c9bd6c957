import type { SpokenEntry } from '@acp/contract';
import { type GrowthPosition, parseRanges, readGrowth } from '@acp/core';
import { type Database, type Listener, WILDCARD } from '@acp/db';
import type { Logger } from '@acp/kernel';

/** A reply whose text is wanted while it is written. */
export interface FollowedReply extends Omit<GrowthPosition, 'after'> {
  /** @returns whether more text could be shown now */
  takeTurn(): boolean;
  take(entries: readonly SpokenEntry[]): void;
  /** It has ended, has been taken over by another run, or must not be shown any more. */
  over(): void;
}

interface Following {
  reply: FollowedReply;
  after: number;
  /** There may be more to read. */
  isDue: boolean;
}

const TICK_MS = 200;
/** Notifications can be lost: replies are looked at this often without one. */
const LOOK_MS = 5000;

/**
 * The text of replies in progress, wherever their runs are: notifications say that a transcript has grown, and one statement
 * then reads it for all channels of this process, at the pace at which it can be shown.
 */
export class LiveTexts {
  readonly #parts: { database: Database; listener: Listener; logger: Logger };
  readonly #followed = new Map<string, Following>();
  #off: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #lookedAt = 0;
  #reading: Promise<void> | null = null;

  constructor(parts: { database: Database; listener: Listener; logger: Logger }) {
    this.#parts = parts;
  }

  follow(reply: FollowedReply): void {
    if (this.#followed.size === 0) this.#begin();
    this.#followed.set(reply.run_id, { reply, after: 0, isDue: true });
  }

  unfollow({ run_id }: Pick<FollowedReply, 'run_id'>): void {
    this.#followed.delete(run_id);
    if (this.#followed.size === 0) this.#end();
  }

  /** Its last step could not show everything: it gets another turn even if nothing is added. */
  again({ run_id }: Pick<FollowedReply, 'run_id'>): void {
    const following = this.#followed.get(run_id);
    if (following !== undefined) following.isDue = true;
  }

  async stop(): Promise<void> {
    this.#followed.clear();
    this.#end();
    await this.#reading;
  }

  /** Without replies to follow nobody listens: every run of the instance notifies. */
  #begin(): void {
    const { listener } = this.#parts;
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref();
    this.#off = [
      listener.on('transcripts', (items) => this.#hear(items)),
      listener.onReconnect(() => this.#hear([WILDCARD])),
    ];
  }

  #end(): void {
    clearInterval(this.#timer);
    for (const off of this.#off) off();
    this.#off = [];
  }

  #hear(items: readonly string[]): void {
    if (items.includes(WILDCARD)) for (const following of this.#followed.values()) following.isDue = true;
    else for (const range of parseRanges(items)) this.again(range);
  }

  #tick(): void {
    if (performance.now() - this.#lookedAt > LOOK_MS) {
      this.#lookedAt = performance.now();
      this.#hear([WILDCARD]);
    }
    if (this.#reading !== null) return;
    const due = [...this.#followed.values()].filter(({ isDue, reply }) => isDue && reply.takeTurn());
    if (due.length === 0) return;
    this.#reading = this.#read(due).finally(() => {
      this.#reading = null;
    });
  }

  async #read(due: readonly Following[]): Promise<void> {
    for (const following of due) following.isDue = false;
    try {
      const positions = due.map(({ reply: { question_id, run_id, channel_id, user_id }, after }) => ({
        question_id,
        run_id,
        channel_id,
        user_id,
        after,
      }));
      const read = await readGrowth(this.#parts.database.db, positions);
      for (const following of due) this.#pass(following, read.get(following.reply.run_id));
    } catch (error) {
      for (const following of due) following.isDue = true;
      this.#parts.logger.warn('replies in progress could not be read', { error });
    }
  }

  #pass(following: Following, growth: { entries: SpokenEntry[]; seq: number } | undefined): void {
    const { reply } = following;
    if (this.#followed.get(reply.run_id) !== following) return;
    if (growth === undefined) {
      this.unfollow(reply);
      return reply.over();
    }
    following.after = Math.max(following.after, growth.seq);
    // The longest at the back of the queue: others get the next turns.
    this.#followed.delete(reply.run_id);
    this.#followed.set(reply.run_id, following);
    reply.take(growth.entries);
  }
}
