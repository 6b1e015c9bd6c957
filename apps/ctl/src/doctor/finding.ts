import type { CommandContext } from '../command.ts';

export interface Finding {
  check: string;
  ok: boolean;
  detail: string;
  /** What to do about it; empty where all is well. */
  mend: string;
}

/** What a check says; its name is the table's. */
export type Verdict = Omit<Finding, 'check'>;

export interface Check {
  /** Checks without which this one would only say the same again. */
  after?: readonly string[];
  /** What to do when it can't even be carried out: why is in the detail. */
  mend: string;
  run(context: CommandContext): Promise<Verdict> | Verdict;
}

export const well = (detail: string): Verdict => ({ ok: true, detail, mend: '' });
export const wrong = (detail: string, mend: string): Verdict => ({ ok: false, detail, mend });
