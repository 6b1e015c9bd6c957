import type { AdapterError } from '../adapter-error.ts';
import type { ProgramEnd } from '../process/run-program.ts';
import type { AdapterEvent, SessionTotals } from '../task.ts';

/** The differences between the two CLIs: their arguments, and how their output is parsed. */
export interface CliDialect {
  name: 'cli_a' | 'cli_b';
  /** Appended to the operator's program and arguments. The prompt is always passed on stdin. */
  arguments(call: CliCall): string[];
  reader(call: CliCall): CliReader;
  /** In characters; a longer prompt would fail inside the CLI after paying for its start. */
  longest_prompt: number;
}

/** What a CLI does without asking; each level includes the previous ones. `all`: anything. */
export type CliPermissions = 'read' | 'edit' | 'commands' | 'all';

export interface CliCall {
  /** Null: the CLI's default. */
  model: string | null;
  resume: { id: string; totals: SessionTotals } | null;
  permissions: CliPermissions;
  /** It runs inside our sandbox, where its own sandbox can't work. */
  walled: boolean;
  /** A folder for temporary files that no other agent shares. */
  temp_dir: string;
  prompt_length: number;
  /** How often the CLI retries a failed model call. */
  retries: number;
}

/** Parses the output lines of one call, in order. */
export interface CliReader {
  read(line: Record<string, unknown>): Iterable<AdapterEvent>;
  /** Call after the last line. */
  finish(end: ProgramEnd): CliOutcome;
}

export interface CliOutcome {
  usage: AdapterEvent[];
  /** Null if the CLI has not reported one. */
  session: { id: string; totals: SessionTotals } | null;
  /** The CLI does not know the session to resume: nothing was done. */
  lost_session: boolean;
  failure: AdapterError | null;
}

export const noTotals: SessionTotals = { input_tokens: 0, output_tokens: 0, cached_tokens: 0, cost_usd: 0 };
