import { growingReplies } from '@acp/core';
import type { ChannelLink } from './channel-link.ts';
import type { WorkerParts } from './channel-parts.ts';
import { ShownReply } from './growing-reply.ts';
import type { Pace } from './pace.ts';

const INDICATE_MS = 500;
/** Kicks arrive with every message. */
const REST_MS = 250;

/** Shows the replies of one channel while they are written. Whatever fails here, the reply is sent when it is complete. */
export class GrowthWorker {
  readonly #parts: WorkerParts & { pace: Pace };
  readonly #shown = new Map<string, ShownReply>();
  /** Settled or given up, until it is certain that they have ended. */
  readonly #done = new Set<string>();
  #link: ChannelLink | undefined;
  #rest: NodeJS.Timeout | undefined;
  #looking: Promise<void> | null = null;
  #indicating: NodeJS.Timeout | undefined;

  constructor(parts: WorkerParts & { pace: Pace }) {
    this.#parts = parts;
  }

  use(link: ChannelLink): void {
    this.#link = link;
  }

  /** Call when a reply may have begun. */
  kick(): void {
    if (this.#parts.signal.aborted || this.#link === undefined) return;
    this.#rest ??= setTimeout(() => {
      this.#rest = undefined;
      this.#looking ??= this.#look().finally(() => {
        this.#looking = null;
      });
    }, REST_MS).unref();
  }

  /** Stops showing the reply to a question. @returns the messages that show its beginning; undefined if it wasn't shown here */
  async settle(question_id: string): Promise<string[] | undefined> {
    const reply = [...this.#shown.values()].find((each) => each.question_id === question_id);
    if (reply === undefined) return undefined;
    this.#forget(reply);
    this.#done.add(reply.run_id);
    return reply.settle();
  }

  async stop(): Promise<void> {
    clearTimeout(this.#rest);
    clearInterval(this.#indicating);
    const shown = [...this.#shown.values()];
    for (const reply of shown) this.#forget(reply);
    await Promise.all([this.#looking, ...shown.map(async (reply) => reply.settle())]);
  }

  async #look(): Promise<void> {
    const { database, hold, signal, logger } = this.#parts;
    try {
      const growing = await growingReplies(database.db, hold);
      const live = new Set(growing.map(({ run_id }) => run_id));
      for (const run_id of this.#done) if (!live.has(run_id)) this.#done.delete(run_id);
      for (const reply of growing)
        if (!signal.aborted && !this.#shown.has(reply.run_id) && !this.#done.has(reply.run_id))
          this.#show(reply);
    } catch (error) {
      if (!signal.aborted) logger.warn('the replies in progress of a channel could not be read', { error });
    }
  }

  #show(reply: ConstructorParameters<typeof ShownReply>[0]): void {
    const { texts, ...parts } = this.#parts;
    // An earlier run's attempt that was given up.
    for (const earlier of this.#shown.values())
      if (earlier.question_id === reply.question_id) this.#forget(earlier);
    const shown = new ShownReply(reply, {
      ...parts,
      link: () => this.#link,
      again: () => texts.again(reply),
      over: () => {
        this.#forget(shown);
        // A run that was lost is repeated by another one.
        this.kick();
      },
    });
    this.#shown.set(reply.run_id, shown);
    texts.follow(shown);
    this.#indicating ??= setInterval(() => {
      for (const each of this.#shown.values()) each.indicate();
    }, INDICATE_MS).unref();
  }

  #forget(reply: ShownReply): void {
    this.#shown.delete(reply.run_id);
    this.#parts.texts.unfollow(reply);
    if (this.#shown.size > 0) return;
    clearInterval(this.#indicating);
    this.#indicating = undefined;
  }
}
