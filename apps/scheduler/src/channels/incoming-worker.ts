import {
  mayBringFiles,
  nextIncoming,
  postponeIncoming,
  type Received,
  receive,
  type StoredFile,
  type StoredIncoming,
} from '@acp/core';
import { transaction } from '@acp/db';
import { ServiceError } from '@acp/kernel';
import { ChannelFailure, type ChannelLink } from './channel-link.ts';
import type { WorkerParts } from './channel-parts.ts';

/** Processes stored messages one by one. */
export class IncomingWorker {
  readonly #parts: WorkerParts & { onHandled(): void };
  #link: ChannelLink | undefined;
  #working: Promise<void> | null = null;
  #again = false;
  #retry: NodeJS.Timeout | undefined;

  constructor(parts: WorkerParts & { onHandled(): void }) {
    this.#parts = parts;
  }

  use(link: ChannelLink): void {
    this.#link = link;
  }

  kick(): void {
    this.#again = true;
    if (this.#working !== null || this.#parts.signal.aborted) return;
    this.#working = this.#work().finally(() => {
      this.#working = null;
    });
  }

  async stop(): Promise<void> {
    clearTimeout(this.#retry);
    await this.#working;
  }

  async #work(): Promise<void> {
    const { database, hold, signal, logger } = this.#parts;
    while (this.#again && !signal.aborted) {
      this.#again = false;
      try {
        let next: StoredIncoming | undefined;
        while (!signal.aborted && (next = await nextIncoming(database.db, hold)) !== undefined)
          if (!(await this.#deal(next))) return;
      } catch (error) {
        if (!signal.aborted) logger.warn('an incoming channel message could not be handled', { error });
        this.#later();
      }
    }
  }

  /** @returns false if the lease is lost */
  async #deal(stored: StoredIncoming): Promise<boolean> {
    const { database, hold, signal, logger } = this.#parts;
    try {
      const { files, unfetched } = await this.#fetchFiles(stored);
      const received = await transaction(database, async (tx) => receive(tx, hold, stored, files, unfetched));
      if (received === undefined) return false;
      this.#parts.onHandled();
      await this.#answer(received);
    } catch (error) {
      if (signal.aborted) return false;
      logger.error('what came through a channel could not be dealt with', { incoming_id: stored.id, error });
      await postponeIncoming(database.db, stored.id, error instanceof Error ? error.message : String(error));
      this.#later();
    }
    return true;
  }

  /** Shown immediately when a button is pressed; the message itself is changed by a queued one. */
  async #answer({ callback }: Received): Promise<void> {
    if (callback === null) return;
    const { signal, logger } = this.#parts;
    await this.#link?.answer(callback.id, callback.text, signal).catch((error: unknown) => {
      if (!signal.aborted) logger.info('a pressed button could not be answered', { error });
    });
  }

  /** Runs before the transaction, and only for people whose message will be passed on. */
  async #fetchFiles({ incoming }: StoredIncoming): Promise<{ files: StoredFile[]; unfetched: string[] }> {
    const { database, channel, config, files: store, signal } = this.#parts;
    const files: StoredFile[] = [];
    const unfetched: string[] = [];
    const max_bytes = Math.min(config.attachment_max_upload_bytes, LARGEST);
    for (const file of await mayBringFiles(database.db, channel, incoming)) {
      const { name: filename, content_type } = file;
      const refuse = (why: string): void => void unfetched.push(`A file was left out: ${why}.`);
      if (files.length >= MOST_FILES) refuse(`a message may have at most ${MOST_FILES} files`);
      else if (file.size_bytes !== null && file.size_bytes > max_bytes) refuse('it is too large');
      else
        try {
          const bytes = await this.#link!.fetchFile(file, signal);
          const place = ['attachments', channel.company_id] as const;
          files.push(
            await store.putFile(place, bytes, { filename, content_type, max_bytes }, async (kept) => kept),
          );
        } catch (error) {
          // What may succeed later is retried together with the message.
          if (signal.aborted || !isFinal(error)) throw error;
          refuse(error instanceof ServiceError ? error.message : 'it could not be fetched');
        }
    }
    return { files, unfetched };
  }

  #later(): void {
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.kick(), RETRY_MS).unref();
  }
}

const RETRY_MS = 2500;
const MOST_FILES = 5;
/** Vendors have a similar limit of their own for bots. */
const LARGEST = 20 * 1024 * 1024;

const isFinal = (error: unknown): boolean =>
  error instanceof ServiceError || (error instanceof ChannelFailure && error.hopeless);
