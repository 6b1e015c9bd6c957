/** Runs a project's commands for its workspaces, inside the sandbox of the agent's program. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { type ProgramSpec, runShell } from '@acp/adapters';
import type { WorkspaceState } from '@acp/core';
import { type Config, cutText, openInside, type Scrubber, storableText } from '@acp/kernel';
import type { RunParts } from '../execution/run-parts.ts';
import type { Transcript } from '../execution/transcript.ts';
import type { RunWorkspace } from './run-workspace.ts';

/** Files that determine which versions of which packages are installed. */
const LOCK_FILES = [
  'package-lock.json',
  'npm-shrinkwrap.json',
  'pnpm-lock.yaml',
  'yarn.lock',
  'bun.lock',
  'requirements.txt',
  'poetry.lock',
  'uv.lock',
  'Pipfile.lock',
  'Cargo.lock',
  'go.sum',
  'Gemfile.lock',
  'composer.lock',
  'gradle.lockfile',
  'flake.lock',
];
/** In bytes, read of each file. */
const MOST = 16 * 1024 * 1024;
const SETUP_SEC = 900;
const CHECK_SEC = 900;
/** Maximum number of a command's lines in the transcript. */
const LINES = 500;
const OUTPUT = 16_000;

export class ProjectCommands {
  readonly #workspace: RunWorkspace;
  readonly #program: ProgramSpec;
  readonly #transcript: Transcript;
  readonly #scrubber: Scrubber;
  readonly #allowed: boolean;

  constructor(
    { project_commands }: Pick<Config, 'project_commands'>,
    workspace: RunWorkspace,
    program: ProgramSpec,
    { transcript, scrubber }: Pick<RunParts, 'transcript' | 'scrubber'>,
  ) {
    this.#workspace = workspace;
    this.#program = program;
    this.#transcript = transcript;
    this.#scrubber = scrubber;
    this.#allowed = project_commands === 'on';
  }

  /**
   * Runs once per state of the lock files, and again after a failure. @returns the end of its output if it failed: the
   * agent may be able to fix the problem
   */
  async setUp(signal: AbortSignal): Promise<string | null> {
    const command = this.#workspace.facts.project?.setup_command ?? null;
    if (command === null || !this.#allowed) return null;
    const hash = await this.#hash(command);
    if (hash === this.#workspace.setup_hash) return null;
    const end = await this.#run('set-up', command, SETUP_SEC, signal);
    this.#workspace.setup_hash = end.status === 'passed' ? await this.#hash(command) : null;
    return end.status === 'passed' ? null : end.output;
  }

  /** Undefined if the project has none. */
  async check(signal: AbortSignal): Promise<WorkspaceState['check']> {
    const command = this.#workspace.facts.project?.check_command ?? null;
    if (command === null || !this.#allowed) return undefined;
    return this.#run('check', command, CHECK_SEC, signal);
  }

  async #run(
    name: string,
    command: string,
    most_sec: number,
    signal: AbortSignal,
  ): Promise<NonNullable<WorkspaceState['check']>> {
    let lines = 0;
    this.#transcript.add('tool', { name, command });
    const program = { ...this.#program, timeout_sec: Math.min(most_sec, this.#program.timeout_sec) };
    const { code, timed_out, tail } = await runShell(program, command, signal, (line) => {
      lines += 1;
      if (lines <= LINES) this.#transcript.add('log', { message: `${name}: ${line.slice(0, 2000)}` });
    });
    const status = timed_out ? 'timed_out' : code === 0 ? 'passed' : 'failed';
    this.#transcript.add('tool', { name: 'result', ok: status === 'passed', exit_code: code, of: name });
    const output = timed_out ? `${tail}[no end within ${program.timeout_sec} s]` : tail;
    return { status, output: cutText(storableText(this.#scrubber.scrub(output).slice(-OUTPUT)), OUTPUT) };
  }

  /** Hash of the command and of the lock files at the top level. */
  async #hash(command: string): Promise<string> {
    const hash = createHash('sha256').update(command);
    const { here } = this.#workspace.held;
    for (const name of LOCK_FILES) {
      const file = await openInside(here, join('.', name)).catch(() => null);
      if (file === null) continue;
      try {
        const bytes = Buffer.alloc(Math.min((await file.stat()).size, MOST));
        const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
        hash.update(`\0${name}\0`).update(bytes.subarray(0, bytesRead));
      } finally {
        await file.close();
      }
    }
    return hash.digest('hex');
  }
}
