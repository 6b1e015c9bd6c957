import type { RunAudience, RunLease } from '@acp/core';

/** Why a run ends before its time. After `lost` and `stopping` the run is someone else's: nothing more is written. */
type StopCause = 'cancelled' | 'lost' | 'stopping';

/** Reason of the abort signal, and what the assertions throw. */
export class RunStopped extends Error {
  readonly why: StopCause;

  constructor(why: StopCause) {
    super(`run ${why}`);
    this.name = 'RunStopped';
    this.why = why;
  }
}

/** A run in the hands of this process, for as long as its lease lasts. */
export class HeldRun {
  readonly run_id: string;
  readonly company_id: string;
  readonly fence: number;
  readonly audience: RunAudience;
  readonly #leaseMs: number;
  readonly #abort = new AbortController();
  /** By the monotonic clock, when the statement that last took or renewed the lease was sent. */
  #renewedAt: number;
  #why: StopCause | null = null;

  /** @param claimedAt `performance.now()` before the claim was sent: the lease began later than that. */
  constructor(lease: RunLease, leaseSec: number, claimedAt: number) {
    this.run_id = lease.run_id;
    this.company_id = lease.company_id;
    this.fence = lease.fence;
    this.audience = lease.audience;
    this.#leaseMs = leaseSec * 1000;
    this.#renewedAt = claimedAt;
  }

  /** Aborts when the execution has to end; its reason is a RunStopped. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get stopped(): StopCause | null {
    return this.#why;
  }

  /** Whether its end is still ours to write: a cancelled run is, until it is finished. */
  get ours(): boolean {
    return (this.#why === null || this.#why === 'cancelled') && !this.lapsed();
  }

  renewed(sentAt: number): void {
    this.#renewedAt = Math.max(this.#renewedAt, sentAt);
  }

  lapsed(): boolean {
    return performance.now() - this.#renewedAt >= this.#leaseMs;
  }

  stop(why: StopCause): void {
    if (this.#why === null || this.#why === 'cancelled') this.#why = why;
    this.#abort.abort(new RunStopped(why));
  }

  /**
   * Before whatever acts outside, and each step: throws RunStopped where the run was stopped, or where its lease may
   * have lapsed by the monotonic clock (a process that was frozen learns it here; writes are guarded by the fence).
   */
  assertHeld(): void {
    this.assertOurs();
    if (this.#why !== null) throw new RunStopped(this.#why);
  }

  /** Before what a cancelled run still writes. */
  assertOurs(): void {
    if (this.lapsed()) this.stop('lost');
    if (this.#why === 'lost' || this.#why === 'stopping') throw new RunStopped(this.#why);
  }
}
