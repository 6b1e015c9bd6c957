import { type TreeUsage, usageBelow } from './tree-usage.ts';

/** A burst of one second's share is allowed, so occasional work is never throttled. */
const BURST_SEC = 1;
/** Health checks and calls tolerate a longer pause than this. */
const LONGEST_HALT_MS = 4000;
/** Caps the debt: what a machine with many processors ran up is eventually forgiven. */
const MOST_SEC = 20;
const SAY_EVERY_MS = 60_000;

interface Account {
  cpu_sec: number;
  at: number;
  /** CPU time used beyond the share. */
  debt_sec: number;
  said_at: number;
  halt: NodeJS.Timeout | undefined;
}

/**
 * Limits the CPU time of process trees without a control group, averaged over a few seconds: a tree that exceeded its share is
 * stopped (SIGSTOP) until the share has caught up.
 */
export class ProcessorShare {
  /** Number of processors. */
  readonly #limit: number;
  readonly #accounts = new Map<number, Account>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** @returns true occasionally, when the throttling should be reported */
  look(root: number, { pids, cpu_sec }: TreeUsage): boolean {
    const now = performance.now();
    const account = this.#accounts.get(root);
    if (account === undefined) {
      this.#accounts.set(root, { cpu_sec, at: now, debt_sec: 0, said_at: -Infinity, halt: undefined });
      return false;
    }
    const taken = Math.max(0, cpu_sec - account.cpu_sec);
    const due = ((now - account.at) / 1000) * this.#limit;
    account.debt_sec = Math.min(MOST_SEC, Math.max(0, account.debt_sec + taken - due));
    account.cpu_sec = cpu_sec;
    account.at = now;
    if (account.halt !== undefined || account.debt_sec <= BURST_SEC * this.#limit) return false;
    const halt_ms = Math.min((account.debt_sec / this.#limit) * 1000, LONGEST_HALT_MS);
    signalAll(pids, 'SIGSTOP');
    account.halt = setTimeout(() => void this.#resume(root, account), halt_ms).unref();
    if (now - account.said_at < SAY_EVERY_MS) return false;
    account.said_at = now;
    return true;
  }

  /** Forgets trees that have ended. */
  keepOnly(roots: readonly number[]): void {
    for (const [root, account] of this.#accounts)
      if (!roots.includes(root)) {
        clearTimeout(account.halt);
        this.#accounts.delete(root);
      }
  }

  /** Resumes everything, so that it can shut down on its own. */
  close(): void {
    for (const [root, account] of this.#accounts)
      if (account.halt !== undefined) {
        clearTimeout(account.halt);
        void this.#resume(root, account);
      }
  }

  async #resume(root: number, account: Account): Promise<void> {
    const tree = (await usageBelow([root], Infinity)).get(root);
    account.halt = undefined;
    if (tree !== undefined) signalAll(tree.pids, 'SIGCONT');
  }
}

function signalAll(pids: readonly number[], signal: 'SIGSTOP' | 'SIGCONT'): void {
  for (const pid of pids)
    try {
      process.kill(pid, signal);
    } catch {
      // Gone, or the pid now belongs to another user.
    }
}
