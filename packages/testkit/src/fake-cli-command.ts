import { readFile } from 'node:fs/promises';
import path from 'node:path';

/** What one call does, in this order. The last call of the script repeats. */
export interface FakeCliCall {
  /** The agent's messages, with a tool call between each two. Default `["ok"]`. */
  texts?: string[];
  /** Usage of the model call behind each message. */
  usage?: { input?: number; cached?: number; output?: number; cost_usd?: number };
  /** Shell commands run in its working folder, as one of the model's tools would run them. */
  sh?: string;
  /** Prints lines that are not JSON, or that no parser knows. */
  garbage?: boolean;
  /** Lines printed verbatim before its own. */
  raw?: string[];
  /** Session id to use instead of a generated one. */
  session_id?: string;
  /** Starts a program in its own session, which keeps running when everything else exits. */
  stray?: boolean;
  /** Never exits by itself after its messages; `stubborn` ignores even SIGTERM. */
  hang?: 'polite' | 'stubborn';
  /** Fails with the response that the model's endpoint supposedly sent. */
  fail?: { status: number; message: string };
  /** Exits immediately with this code and text on standard error. */
  crash?: { code: number; stderr: string };
}

export interface FakeCliScript {
  calls: FakeCliCall[];
}

/** A line of `$HOME/fake-cli.jsonl`. */
export interface FakeCliJournal {
  args: string[];
  cwd: string;
  env: Record<string, string>;
  stdin: string;
  pid: number;
  stray_pid: number | null;
}

/** Program and arguments of a stand-in for one of the CLIs; the script is a JSON file containing a `FakeCliScript`. */
export function fakeCliCommand(kind: 'a' | 'b', script_file: string): string[] {
  const program = path.resolve(import.meta.dirname, 'fake-cli.mjs');
  return [process.execPath, program, kind, `--fake=${script_file}`];
}

/** Program and arguments of one that tries to escape its sandbox; it reads on standard input what there is to find. */
export function hostileCommand(): string[] {
  const program = path.resolve(import.meta.dirname, 'hostile-program.ts');
  return [process.execPath, '--disable-warning=ExperimentalWarning', program];
}

/** The calls made so far with this home, oldest first. */
export async function fakeCliJournal(home: string): Promise<FakeCliJournal[]> {
  const text = await readFile(path.join(home, 'fake-cli.jsonl'), 'utf8').catch(() => '');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as FakeCliJournal);
}
