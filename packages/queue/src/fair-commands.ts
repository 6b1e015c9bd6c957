import { transaction } from '@acp/db';
import type { JobPayload } from '@acp/contract';
import { enqueue } from './enqueue.ts';
import { type CommandRunner, runCommand } from './run-command.ts';

/**
 * Commands of one company that one process executes at the same time. Most of them wait for somebody else's server: one company's
 * must not take all places for as long as those servers please.
 */
const OF_ONE_COMPANY = 8;
/** The callers of any more are told that no one answered in time. */
const MOST_DEFERRED = 1000;

/** Runs commands up to a limit per company; further ones go back to the queue as soon as one of the company's is done. */
export class FairCommands {
  readonly #runner: CommandRunner;
  readonly #running = new Map<string, number>();
  /** Oldest first; kept in memory, since none of them is wanted for longer than its deadline. */
  readonly #deferred = new Map<string, string[]>();

  constructor(runner: CommandRunner) {
    this.#runner = runner;
  }

  async run({ command_id, company_id }: JobPayload<'run-command'>, stopping: AbortSignal): Promise<void> {
    // Commands of the instance, and those enqueued by an earlier release.
    if (company_id == null) return runCommand(this.#runner, command_id, stopping);
    const running = this.#running.get(company_id) ?? 0;
    if (running >= OF_ONE_COMPANY) return this.#defer(company_id, command_id);
    this.#running.set(company_id, running + 1);
    try {
      await runCommand(this.#runner, command_id, stopping);
    } finally {
      this.#leave(company_id);
      await this.#callNext(company_id);
    }
  }

  #defer(company_id: string, command_id: string): void {
    const waiting = this.#deferred.get(company_id) ?? [];
    if (waiting.length < MOST_DEFERRED && !waiting.includes(command_id)) waiting.push(command_id);
    this.#deferred.set(company_id, waiting);
  }

  #leave(company_id: string): void {
    const left = (this.#running.get(company_id) ?? 1) - 1;
    if (left > 0) this.#running.set(company_id, left);
    else this.#running.delete(company_id);
  }

  async #callNext(company_id: string): Promise<void> {
    const waiting = this.#deferred.get(company_id);
    const command_id = waiting?.shift();
    if (waiting?.length === 0) this.#deferred.delete(company_id);
    if (command_id === undefined) return;
    await transaction(this.#runner.database, async (tx) =>
      enqueue(tx, 'run-command', { command_id, company_id }),
    );
  }
}
