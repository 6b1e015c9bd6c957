import { setTimeout as delay } from 'node:timers/promises';
import { type DueJob, endJobRun } from '@acp/core';
import { type Database, isConnectionError } from '@acp/db';
import { mapTexts, ServiceError } from '@acp/kernel';
import type { Conversation } from './conversation.ts';
import type { PluginLog } from './plugin-log.ts';

interface JobRunsSettings {
  database: Database;
  conversation: Conversation;
  log: PluginLog;
  /** For an answer. */
  time_ms: number;
  /** Makes text storable and removes secrets. */
  clean: (text: string) => string;
  /** Aborts when the process has ended. */
  signal: AbortSignal;
}

/** Maximum length of a job's result, in characters of JSON: a longer one is not stored. */
const LONGEST_RESULT = 20_000;
const RETRY_MS = 1000;

/** The job runs of one plugin process, each until its outcome is stored. */
export class JobRuns {
  readonly #set: JobRunsSettings;
  readonly #in_progress = new Set<string>();

  constructor(settings: JobRunsSettings) {
    this.#set = settings;
  }

  get in_progress(): readonly string[] {
    return [...this.#in_progress];
  }

  async run({ run_id, name, config, scheduled_at }: DueJob): Promise<void> {
    const { conversation, log, time_ms, clean } = this.#set;
    this.#in_progress.add(run_id);
    try {
      const result = await conversation.job({ job_name: name, config, scheduled_at }, time_ms);
      const kept = JSON.stringify(result).length > LONGEST_RESULT ? null : result;
      await this.#end(run_id, { status: 'succeeded', result: mapTexts(kept, clean) });
    } catch (err) {
      const error = clean(err instanceof ServiceError ? err.message : 'the job failed');
      log.add({ type: 'error', level: 'error', message: `job ${name}: ${error}` });
      // What can't be stored ends with the process, or when the job is next due.
      await this.#end(run_id, { status: 'failed', error }).catch(() => undefined);
    } finally {
      this.#in_progress.delete(run_id);
    }
  }

  /** Repeated while the database is away: the plugin will not answer a second time. */
  async #end(run_id: string, outcome: Parameters<typeof endJobRun>[2]): Promise<void> {
    const { database, signal } = this.#set;
    for (;;)
      try {
        return await endJobRun(database.db, run_id, outcome);
      } catch (err) {
        if (!isConnectionError(err) || signal.aborted) throw err;
        await delay(RETRY_MS, undefined, { signal, ref: false }).catch(() => undefined);
      }
  }
}
