import type { CommandContext } from '../command.ts';

export interface Finding {
  check: string;
  ok: boolean;
  detail: string;
  /** How to fix it; empty if all is well. */
  mend: string;
}

/** Result of a check; its name comes from the table. */
export type Verdict = Omit<Finding, 'check'>;

export interface Check {
  /** Checks whose failure would only be repeated by this one. */
  after?: readonly string[];
  /** What to do if the check can't even run; the detail says why. */
  mend: string;
  run(context: CommandContext): Promise<Verdict> | Verdict;
}

export const well = (detail: string): Verdict => ({ ok: true, detail, mend: '' });
export const wrong = (detail: string, mend: string): Verdict => ({ ok: false, detail, mend });
