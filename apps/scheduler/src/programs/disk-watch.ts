/**
 * Ends the run that fills the disk of SERVICE_HOME, on which everyone's work and often the database are: while programs run, the free
 * space is looked at; once it is short, the run that has written most is ended, if that was much, and what it wrote is removed. A plugin
 * or the program of an MCP server counts as a run, with what it has written beyond what it may keep.
 */
import { stat } from 'node:fs/promises';
import { type Config, freeBytes, type Logger } from '@acp/kernel';
import { countEndedForDisk } from '../execution/run-metrics.ts';
import type { HeldFolder } from './held-folder.ts';
import { removedFiles } from './removed-files.ts';
import { bytesWritten, removeWritten, type WrittenFolder } from './written-files.ts';

type DiskConfig = Pick<Config, 'home' | 'workspace_min_free'>;

interface DiskOptions {
  /** Free bytes of the disk. */
  free?: () => Promise<number>;
  every_ms?: number;
}

/** Kills a program at once and resolves when nothing of it is left. */
type Kill = (reason: string) => Promise<void>;

const EVERY_MS = 100;
/** By how much times of files may lag behind the clock. */
const TICK_MS = 10;
/** A part of SERVICE_WORKSPACE_MIN_FREE: who wrote less is never the cause, and so much may stay of what is removed. */
const LITTLE = 1 / 20;

export class DiskWatch {
  readonly #config: DiskConfig;
  readonly #logger: Logger;
  readonly #free: () => Promise<number>;
  readonly #everyMs: number;
  readonly #little: number;
  readonly #runs = new Set<RunOnDisk>();
  #timer: NodeJS.Timeout | undefined;
  #looking = false;
  /** Free space when nobody was found to be the cause: searched again once clearly more is gone. */
  #searchedAt = Infinity;

  constructor(config: DiskConfig, logger: Logger, { free, every_ms = EVERY_MS }: DiskOptions = {}) {
    this.#config = config;
    this.#logger = logger;
    this.#free = free ?? (async () => freeBytes(config.home));
    this.#everyMs = every_ms;
    this.#little = config.workspace_min_free * LITTLE;
  }

  /** @param about names it in the log, a run by its `run_id` @param allowed bytes that don't count */
  open(about: Record<string, string>, allowed = 0): RunOnDisk {
    const run = new RunOnDisk(about, allowed, () => this.#adjust());
    this.#runs.add(run);
    run.onClose(() => this.#runs.delete(run));
    return run;
  }

  /** Looks only while programs run. */
  #adjust(): void {
    if (this.#running().length > 0)
      this.#timer ??= setInterval(() => void this.#look(), this.#everyMs).unref();
    else {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }

  #running(): RunOnDisk[] {
    return [...this.#runs].filter((run) => run.isRunning);
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      const free = await this.#free();
      if (free >= this.#config.workspace_min_free) this.#searchedAt = Infinity;
      else if (free <= this.#searchedAt - this.#little) await this.#relieve(free);
    } catch (error) {
      this.#logger.warn('the disk of SERVICE_HOME could not be watched', { error });
    } finally {
      this.#looking = false;
    }
  }

  async #relieve(free: number): Promise<void> {
    this.#searchedAt = free;
    const { dev } = await stat(this.#config.home);
    const removed = await removedFiles(dev);
    let [most, cause]: [number, RunOnDisk | undefined] = [0, undefined];
    for (const run of this.#running()) {
      const written =
        (removed.get(run.about.run_id ?? '') ?? 0) + (await bytesWritten(run.folders(dev))) - run.allowed;
      if (written > most) [most, cause] = [written, run];
    }
    // More than is left: the less that is, the less a run may have written.
    const least = Math.max(this.#little, await this.#free());
    if (cause?.isRunning === true && most >= least) await this.#end(cause, most, dev);
  }

  async #end(cause: RunOnDisk, most: number, device: number): Promise<void> {
    const limit = this.#config.workspace_min_free;
    countEndedForDisk();
    this.#logger.warn('a program is ended that fills the disk', { ...cause.about, written: most, limit });
    try {
      await cause.end(reasonOf(most, limit));
      this.#searchedAt = Infinity;
      // Another run of the agent may be at work in its home, and what is there may be that one's.
      const others = [...this.#runs].filter((run) => run !== cause).flatMap((run) => run.paths);
      const bytes = await removeWritten(cause.folders(device, others), this.#little + cause.allowed);
      this.#logger.info('what it wrote was removed', { ...cause.about, bytes });
    } finally {
      cause.settle();
    }
  }
}

/** One run on the disk, with the folders that its programs write to. */
export class RunOnDisk {
  readonly about: Record<string, string>;
  readonly allowed: number;
  readonly #onChange: () => void;
  readonly #programs = new Set<Kill>();
  readonly #folders: { held: HeldFolder; since: number }[] = [];
  readonly #settled = Promise.withResolvers<void>();
  #reason: string | null = null;
  #onClose: () => void = () => undefined;

  constructor(about: Record<string, string>, allowed: number, onChange: () => void) {
    this.about = about;
    this.allowed = allowed;
    this.#onChange = onChange;
  }

  /** What is written from now on into the folder counts. */
  add(held: HeldFolder): void {
    this.#folders.push({ held, since: Date.now() - TICK_MS });
  }

  /** For a program's start; one that starts after the run was ended is killed. @returns what ends the watch */
  watch(kill: Kill): () => void {
    this.#programs.add(kill);
    this.#onChange();
    if (this.#reason !== null) void kill(this.#reason);
    return () => {
      this.#programs.delete(kill);
      this.#onChange();
    };
  }

  /** Whether a program of it runs that has not been told to end. */
  get isRunning(): boolean {
    return this.#programs.size > 0 && this.#reason === null;
  }

  get paths(): string[] {
    return this.#folders.map(({ held }) => held.path);
  }

  /** Those on this disk that no other run uses. The home comes last: there is more of value in it. */
  folders(device: number, others: readonly string[] = []): WrittenFolder[] {
    return this.#folders
      .filter(({ held }) => held.identity.startsWith(`${device}:`) && !others.includes(held.path))
      .map(({ held, since }) => ({ here: held.here, identity: held.identity, since }))
      .toReversed();
  }

  async end(reason: string): Promise<void> {
    this.#reason = reason;
    await Promise.all([...this.#programs].map(async (kill) => kill(reason)));
  }

  /** What it wrote is removed, as far as it could be. */
  settle(): void {
    this.#settled.resolve();
  }

  /** Why it was ended, once what it wrote is removed; null: it was not. */
  async ended(): Promise<string | null> {
    if (this.#reason !== null) await this.#settled.promise;
    return this.#reason;
  }

  onClose(work: () => void): void {
    this.#onClose = work;
  }

  close(): void {
    this.#onClose();
  }
}

function reasonOf(written: number, limit: number): string {
  const size = Number.isFinite(written) ? inMegabytes(written) : 'more than could be counted';
  return `it wrote ${size} to a disk with less than ${inMegabytes(limit)} left (SERVICE_WORKSPACE_MIN_FREE), more than any other run`;
}

const inMegabytes = (bytes: number): string => `${Math.round(bytes / 1_000_000).toLocaleString('en')} MB`;
