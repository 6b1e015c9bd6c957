import { setTimeout as delay } from 'node:timers/promises';
import { claimRuns, takeBackRun } from '@acp/core';
import type { ClaimedRun } from '@acp/core';
import { transaction, type Tx } from '@acp/db';
import { Batches, unavailable } from '@acp/kernel';
import { enqueueMany } from '@acp/queue';
import type { BroughtResult } from './remote-result.ts';
import { endWithResult, executeRun } from './execute-run.ts';
import type { ExecutionSettings } from './execution-settings.ts';
import { showSlots } from './run-metrics.ts';
import { HeldRun } from './held-run.ts';
import type { LeaseKeeper } from './lease-keeper.ts';
import { TranscriptWriter } from './transcript-writer.ts';

interface RunPoolSettings extends Omit<ExecutionSettings, 'transcripts' | 'takeNext'> {
  leases: LeaseKeeper;
  claimed_by: string;
  /** Looks for jobs; called when a slot of a full pool becomes free. */
  onFree: () => void;
}

/** Maximum number of runs claimed in one transaction: its locks are kept until all of them have begun. */
const MOST_CLAIMS = 8;

/** Completes the job that led to a claim along with it. */
type CompleteJob = (tx: Tx) => void;

/** Whether there was a run, or why that is unknown. */
type Claimed = boolean | { failed: unknown };

/** The runs that this process executes, at most WORKER_POOL_SIZE at the same time. */
export class RunPool {
  readonly #set: RunPoolSettings & ExecutionSettings;
  readonly #size: number;
  readonly #runs = new Set<Promise<void>>();
  /** One transaction at a time: claims of one process would only wait for each other. */
  readonly #claiming: Batches<CompleteJob | undefined, Claimed>;
  readonly #claims = new Set<Promise<unknown>>();
  /** Number of claims that may yet become a run. */
  #wanted = 0;
  /** A claim found nothing that may start, so what the end of a run makes eligible may no longer have a job. */
  #starved = false;
  /** A job found no free slot, and is used up. */
  #isTurnedAway = false;
  /** Queued runs that ended runs may have been blocking, to be claimed when their slots are free. They have no jobs. */
  #next: string[] = [];
  #closed = false;

  constructor(settings: RunPoolSettings) {
    const takeNext = (run_id: string) => void this.#next.push(run_id);
    this.#set = { ...settings, takeNext, transcripts: new TranscriptWriter(settings.database) };
    this.#size = settings.config.worker_pool_size;
    this.#claiming = new Batches({
      most: MOST_CLAIMS,
      perform: async (wanted) => this.#claimSome(wanted),
    });
    showSlots(this.#size, 0);
  }

  get size(): number {
    return this.#size;
  }

  /** Number of runs being executed. */
  get running(): number {
    return this.#runs.size;
  }

  free(): number {
    return this.#closed ? 0 : this.#size - this.#runs.size - this.#wanted;
  }

  /**
   * Claims the fairest queued run and starts it; false if none is available or no slot is free. Resolves at the claim, not
   * at the run's end. Throws `unavailable` once the pool drains: the job then goes to another scheduler.
   * @param completeJob called in the transaction of the claim, if there is a run
   */
  async claimOne(completeJob?: CompleteJob): Promise<boolean> {
    if (this.#closed) throw unavailable('the scheduler stops');
    if (this.free() <= 0) {
      this.#isTurnedAway = true;
      return false;
    }
    this.#wanted += 1;
    const claim = this.#claiming.add(completeJob);
    this.#claims.add(claim);
    try {
      const claimed = await claim;
      if (typeof claimed === 'object') throw claimed.failed;
      return claimed;
    } finally {
      this.#claims.delete(claim);
    }
  }

  /** Claims until it has that many runs or finds none: each transaction claims one run per agent. */
  async #claimSome(jobs: readonly (CompleteJob | undefined)[]): Promise<Claimed[]> {
    const { database, claimed_by, config } = this.#set;
    const options = { claimed_by, lease_sec: config.run_lease_sec };
    const wanted = jobs.length;
    const claimed: Claimed[] = [];
    let rest: Claimed = false;
    try {
      while (claimed.length < wanted) {
        const claimedAt = performance.now();
        const most = wanted - claimed.length;
        const runs = await transaction(database, async (tx) => {
          const begun = await claimRuns(tx, options, most);
          for (const completeJob of jobs.slice(claimed.length, claimed.length + begun.length))
            completeJob?.(tx);
          return begun;
        });
        if (runs.length === 0) break;
        for (const run of runs) {
          claimed.push(run !== undefined);
          this.#wanted -= 1;
          if (run !== undefined) this.#start(run, claimedAt);
        }
      }
    } catch (failed) {
      rest = { failed };
    }
    const left = wanted - claimed.length;
    this.#wanted -= left;
    this.#starved = left > 0;
    return [...claimed, ...Array.from({ length: left }, () => rest)];
  }

  /**
   * Takes back a run that was handed over, and finishes it with the delivered result. Resolves once it is finished or
   * abandoned (then it can be taken back again). Needs no slot: no model is called. False if it is finished or has another
   * owner.
   */
  async takeBack(run_id: string, brought: BroughtResult): Promise<boolean> {
    if (this.#closed) throw unavailable('the scheduler stops');
    const { database, claimed_by, config } = this.#set;
    const options = { claimed_by, lease_sec: config.run_lease_sec };
    const takenAt = performance.now();
    const taken = await transaction(database, async (tx) => takeBackRun(tx, run_id, options));
    if (taken === undefined) return false;
    await this.#hold(taken.run, takenAt, async (held) => {
      if (taken.cancel_requested) held.stop('cancelled');
      await endWithResult(this.#set, taken, held, brought);
    });
    return true;
  }

  /** Stops claiming; true if all runs finish within the time, which `hurry` may cut short. */
  async drain(timeoutMs: number, hurry?: AbortSignal): Promise<boolean> {
    this.#closed = true;
    const over = new AbortController();
    const signal = hurry === undefined ? over.signal : AbortSignal.any([over.signal, hurry]);
    const tooLong = delay(timeoutMs, false, { signal }).catch(() => false);
    const drained = await Promise.race([this.#emptied().then(() => true as const), tooLong]);
    over.abort();
    return drained;
  }

  /** Also waits for a claim that was under way when the pool closed, since it may still start a run, and for jobs for others. */
  async #emptied(): Promise<void> {
    while (this.#claims.size > 0 || this.#runs.size > 0) {
      await Promise.allSettled([...this.#claims, ...this.#runs]);
    }
  }

  #start(run: ClaimedRun, claimedAt: number): void {
    void this.#hold(run, claimedAt, async (held) => executeRun(this.#set, run, held));
    this.#set.logger.debug('a run began', { run_id: run.run_id, agent_id: run.agent_id });
  }

  /** Keeps the lease for the duration of the work, which never rejects. */
  async #hold(run: ClaimedRun, claimedAt: number, work: (held: HeldRun) => Promise<void>): Promise<void> {
    const { leases, config } = this.#set;
    const held = new HeldRun(run, config.run_lease_sec, claimedAt);
    leases.add(held);
    const execution = work(held).finally(() => {
      const full = this.free() <= 0;
      leases.drop(held);
      this.#runs.delete(execution);
      showSlots(this.#size, this.#runs.size);
      this.#refill(full);
    });
    this.#runs.add(execution);
    showSlots(this.#size, this.#runs.size);
    await execution;
  }

  // If the pool was full, the jobs of waiting runs are still in the queue. If a limit blocked a run, its job is used up, so
  // the claim is retried.
  #refill(wasFull: boolean): void {
    const next = this.#next.splice(0);
    if (this.#closed) return this.#leaveToOthers(next);
    if (wasFull) this.#set.onFree();
    if (next.length === 0 && !this.#starved && !this.#isTurnedAway) return;
    this.#isTurnedAway = false;
    void this.#claimOrLeave(next);
  }

  async #claimOrLeave(next: readonly string[]): Promise<void> {
    try {
      await this.claimOne();
    } catch (err) {
      this.#set.logger.warn('no run could be claimed', { error: err });
      this.#leaveToOthers(next);
    }
  }

  /** Enqueues jobs for the runs. If even that fails, the sweep offers them again. */
  #leaveToOthers(run_ids: readonly string[]): void {
    if (run_ids.length === 0) return;
    const { database, logger } = this.#set;
    const jobs = run_ids.map((run_id) => ({ run_id }));
    const written = transaction(database, async (tx) => enqueueMany(tx, 'execute-run', jobs))
      .catch((err: unknown) => logger.warn('waiting runs got no jobs', { run_ids, error: err }))
      .finally(() => this.#claims.delete(written));
    this.#claims.add(written);
  }
}
