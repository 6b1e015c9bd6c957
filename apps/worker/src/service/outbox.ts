/**
 * Results waiting for delivery. Each is written to disk before it is sent, and removed once the service has it: a lost
 * connection or a killed process costs one repetition, which the service answers like the first. Bounded by the tasks in hand.
 */
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createValidator, WorkerReport } from '@acp/contract';
import { isUuid, type Logger } from '@acp/kernel';
import { Backoff, pause } from './backoff.ts';
import { type ControlPlane, Refusal } from './control-plane.ts';
import { writeDurably } from './durable-file.ts';
import type { Link } from './link.ts';

const readReport = createValidator(WorkerReport, 'report');

interface OutboxSettings {
  folder: string;
  plane: ControlPlane;
  link: Link;
  logger: Logger;
  most_wait_ms: number;
}

export class Outbox {
  readonly #set: OutboxSettings;
  readonly #inMemory = new Map<string, WorkerReport>();

  private constructor(settings: OutboxSettings) {
    this.#set = settings;
  }

  static async open(settings: OutboxSettings): Promise<Outbox> {
    await mkdir(settings.folder, { recursive: true, mode: 0o700 });
    return new Outbox(settings);
  }

  /** Tasks whose results an earlier process could not deliver. */
  async left(): Promise<string[]> {
    const names = await readdir(this.#set.folder);
    return names
      .filter((name) => name.endsWith('.json'))
      .map((name) => name.slice(0, -'.json'.length))
      .filter((name) => isUuid(name));
  }

  /** Resolves once the report is on disk; if the disk accepts nothing, it is delivered from memory. */
  async put(task_id: string, report: WorkerReport): Promise<void> {
    this.#inMemory.set(task_id, report);
    try {
      await writeDurably(this.#file(task_id), JSON.stringify(report));
    } catch (error) {
      this.#set.logger.error('a report can’t be written to the outbox', { task_id, error });
    }
  }

  /** Sends the task's report until the service accepts it or never will. @returns whether it was removed */
  async deliver(task_id: string, signal: AbortSignal): Promise<boolean> {
    const report = this.#inMemory.get(task_id) ?? (await this.#read(task_id));
    if (report === undefined) return true;
    const { link, logger } = this.#set;
    const backoff = new Backoff(this.#set.most_wait_ms);
    while (!signal.aborted) {
      try {
        await this.#send(task_id, report, signal);
        link.works();
        logger.info('the report of a task is delivered', { task_id, failed: 'error' in report });
        await this.#remove(task_id);
        return true;
      } catch (err) {
        if (signal.aborted) return false;
        if (err instanceof Refusal && isFinal(err)) {
          link.works();
          logger.warn('the service rejected the report of a task', {
            task_id,
            status: err.status,
            reason: err.message,
          });
          await this.#remove(task_id);
          return true;
        }
        await pause(backoff.next(link.fails(err)), signal);
      }
    }
    return false;
  }

  async #send(task_id: string, report: WorkerReport, signal: AbortSignal): Promise<void> {
    const { plane } = this.#set;
    if ('error' in report) await plane.fail(task_id, report.error, signal);
    else await plane.complete(task_id, report.result, signal);
  }

  /** Undefined for an unreadable report. */
  async #read(task_id: string): Promise<WorkerReport | undefined> {
    const file = this.#file(task_id);
    try {
      return readReport(JSON.parse(await readFile(file, 'utf8')));
    } catch (error) {
      this.#set.logger.error('a report in the outbox can’t be read', { task_id, file, error });
      await rm(file, { force: true });
      return undefined;
    }
  }

  async #remove(task_id: string): Promise<void> {
    this.#inMemory.delete(task_id);
    await rm(this.#file(task_id), { force: true });
  }

  #file(task_id: string): string {
    return join(this.#set.folder, `${task_id}.json`);
  }
}

/** The task was reassigned or cancelled, or no retry can fix the report. A key, however, may become valid again. */
function isFinal(refusal: Refusal): boolean {
  return !refusal.passing && refusal.status !== 401 && refusal.status !== 403;
}
