import type { AdapterError } from '../adapter-error.ts';
import type { ProgramEnd } from '../process/run-program.ts';
import type { AdapterEvent, SessionTotals } from '../task.ts';

/** What differs between the two command lines: their arguments and how their output is read. */
export interface CliDialect {
  name: 'cli_a' | 'cli_b';
  /** What follows the operator's program and arguments. The prompt comes by standard input, always. */
  arguments(call: CliCall): string[];
  reader(call: CliCall): CliReader;
  /** In characters; longer ones fail in the CLI, after it was paid for starting up. */
  longest_prompt: number;
}

/** What a CLI does without asking, each with what comes before; `all`: whatever it likes. */
export type CliPermissions = 'read' | 'edit' | 'commands' | 'all';

export interface CliCall {
  /** Null: the CLI's own choice. */
  model: string | null;
  resume: { id: string; totals: SessionTotals } | null;
  permissions: CliPermissions;
  /** It is shut in: there is no place for a sandbox of the CLI's own. */
  walled: boolean;
  /** A folder for temporary files that no other agent shares. */
  temp_dir: string;
  prompt_length: number;
  /** How often a model call that failed is tried again by the CLI. */
  retries: number;
}

/** Reads the lines of one call, in order. */
export interface CliReader {
  read(line: Record<string, unknown>): Iterable<AdapterEvent>;
  /** After the last line. */
  finish(end: ProgramEnd): CliOutcome;
}

export interface CliOutcome {
  usage: AdapterEvent[];
  /** Null where the CLI has told none. */
  session: { id: string; totals: SessionTotals } | null;
  /** The session to resume is unknown to the CLI: nothing was done. */
  lost_session: boolean;
  failure: AdapterError | null;
}

export const noTotals: SessionTotals = { input_tokens: 0, output_tokens: 0, cached_tokens: 0, cost_usd: 0 };
