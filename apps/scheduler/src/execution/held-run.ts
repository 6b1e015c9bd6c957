import type { ClaimedRun, RunAudience, RunLease } from '@acp/core';

/** Why a run stops early. After `lost` and `stopping` it belongs to someone else: nothing more is written. */
type StopCause = 'cancelled' | 'lost' | 'stopping';

/** The reason of the abort signal, and what the assertions throw. */
export class RunStopped extends Error {
  readonly why: StopCause;

  constructor(why: StopCause) {
    super(`run ${why}`);
    this.name = 'RunStopped';
    this.why = why;
  }
}

/** A run's lease and, unless it only writes, its agent: the actor of its verbs. */
type Held = RunLease & Partial<Pick<ClaimedRun, 'actor'>>;

/** A run owned by this process for as long as its lease lasts. */
export class HeldRun {
  readonly run_id: string;
  readonly company_id: string;
  readonly fence: number;
  readonly audience: RunAudience;
  readonly #actor: ClaimedRun['actor'] | undefined;
  readonly #leaseMs: number;
  readonly #abort = new AbortController();
  /** Monotonic time at which the statement that last acquired or renewed the lease was sent. */
  #renewedAt: number;
  #why: StopCause | null = null;

  /** @param claimedAt `performance.now()` before the claim was sent, so that the lease cannot have begun earlier */
  constructor(lease: Held, leaseSec: number, claimedAt: number) {
    this.run_id = lease.run_id;
    this.company_id = lease.company_id;
    this.fence = lease.fence;
    this.audience = lease.audience;
    this.#actor = lease.actor;
    this.#leaseMs = leaseSec * 1000;
    this.#renewedAt = claimedAt;
  }

  /** Aborts when the execution must stop; its reason is a RunStopped. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get stopped(): StopCause | null {
    return this.#why;
  }

  /** Whether we may still write its end. True for a cancelled run until it is finished. */
  get ours(): boolean {
    return (this.#why === null || this.#why === 'cancelled') && !this.lapsed();
  }

  get agent_id(): string | undefined {
    return this.#actor?.agent_id;
  }

  /** @param permissions what its agent may do now: from the next verb on, the run may do no more. Null: unknown */
  renewed(sentAt: number, permissions: ClaimedRun['actor']['permissions'] | null): void {
    this.#renewedAt = Math.max(this.#renewedAt, sentAt);
    if (this.#actor !== undefined && permissions !== null) this.#actor.permissions = permissions;
  }

  lapsed(): boolean {
    return performance.now() - this.#renewedAt >= this.#leaseMs;
  }

  stop(why: StopCause): void {
    if (this.#why === null || this.#why === 'cancelled') this.#why = why;
    this.#abort.abort(new RunStopped(why));
  }

  /**
   * Called before each step and anything that acts outside. Throws RunStopped if the run was stopped or its lease may have
   * expired by the monotonic clock (this is how a frozen process notices; writes are guarded by the fence).
   */
  assertHeld(): void {
    this.assertOurs();
    if (this.#why !== null) throw new RunStopped(this.#why);
  }

  /** Called before whatever a cancelled run still writes. */
  assertOurs(): void {
    if (this.lapsed()) this.stop('lost');
    if (this.#why === 'lost' || this.#why === 'stopping') throw new RunStopped(this.#why);
  }
}
