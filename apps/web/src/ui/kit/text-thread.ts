import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { repositoryRoot } from '@acp/kernel';
import type { Html } from './html.ts';

/** Time limit per text; then the thread is terminated, as nothing else stops it. */
const TEXT_LIMIT_MS = 5000;
/** Time limit for the start of a thread, which is no fault of the text that it starts for. */
const START_LIMIT_MS = 60_000;
const IDLE_MS = 60_000;
const MEMORY_MB = 128;

/** Null: it took too long or too much memory. Undefined: no one was waiting for it any more when its turn came. */
export type Rendered = Html | null | undefined;

interface Task {
  readonly text: string;
  readonly done: (rendered: Rendered) => void;
}

/**
 * One thread that renders texts, the shortest first: ordinary texts do not wait for one stuffed with list marks. It starts
 * with the first text and ends after a minute without any.
 */
export class TextThread {
  readonly #waiting: Task[] = [];
  #current: Task | null = null;
  #worker: Worker | null = null;
  #ready = false;
  #timer: NodeJS.Timeout | undefined;
  readonly #limit_ms: number;

  constructor({ limit_ms = TEXT_LIMIT_MS } = {}) {
    this.#limit_ms = limit_ms;
  }

  /** @param signal withdraws a text whose turn has not come */
  async render(text: string, signal: AbortSignal): Promise<Rendered> {
    if (signal.aborted) return undefined;
    return new Promise((resolve) => {
      const task: Task = { text, done: resolve };
      const at = this.#waiting.findIndex((other) => other.text.length > text.length);
      this.#waiting.splice(at === -1 ? this.#waiting.length : at, 0, task);
      signal.addEventListener('abort', () => this.#forget(task), { once: true });
      this.#next();
    });
  }

  #forget(task: Task): void {
    const at = this.#waiting.indexOf(task);
    if (at === -1) return;
    this.#waiting.splice(at, 1);
    task.done(undefined);
  }

  #next(): void {
    if (this.#current !== null) return;
    clearTimeout(this.#timer);
    this.#current = this.#waiting.shift() ?? null;
    if (this.#current === null) {
      this.#timer = setTimeout(() => this.#end(), IDLE_MS).unref();
      return;
    }
    this.#worker ??= this.#start();
    this.#limitTo(this.#ready ? this.#limit_ms : START_LIMIT_MS);
    this.#worker.postMessage(this.#current.text, []);
  }

  #limitTo(limit_ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#end(), limit_ms).unref();
  }

  #start(): Worker {
    const worker = new Worker(join(repositoryRoot, 'apps/web/src/ui/kit/markdown-thread.ts'), {
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    });
    worker.on('message', (html: Html | null) => {
      if (worker !== this.#worker) return;
      if (html !== null) return this.#finish(html);
      this.#ready = true;
      if (this.#current !== null) this.#limitTo(this.#limit_ms);
    });
    // Out of memory or a parser fault: the text is given up, the next one gets a new thread.
    worker.on('error', () => this.#end(worker));
    // After the listeners, which would keep the process alive again.
    worker.unref();
    return worker;
  }

  #end(worker = this.#worker): void {
    if (worker === null || worker !== this.#worker) return;
    this.#worker = null;
    this.#ready = false;
    void worker.terminate();
    this.#finish(null);
  }

  #finish(html: Html | null): void {
    const finished = this.#current;
    // Null if the idle timeout ended the thread.
    if (finished === null) return;
    this.#current = null;
    finished.done(html);
    for (const same of this.#waiting.filter(({ text }) => text === finished.text)) {
      this.#waiting.splice(this.#waiting.indexOf(same), 1);
      same.done(html);
    }
    this.#next();
  }
}
