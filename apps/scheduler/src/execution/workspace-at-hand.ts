import type { ProgramSpec } from '@acp/adapters';
import type { ClaimedRun } from '@acp/core';
import { RunNotHeld } from '../programs/home-files.ts';
import { describeWorkspace } from '../workspaces/describe-workspace.ts';
import { giveUpWorkspace, keepWorkspace } from '../workspaces/keep-workspace.ts';
import { ProjectCommands } from '../workspaces/project-commands.ts';
import { authorOf, filesFor, programIn } from '../workspaces/program-in.ts';
import { prepareWorkspace } from '../workspaces/run-workspace.ts';
import type { ExecutionSettings } from './execution-settings.ts';
import { RunStopped } from './held-run.ts';
import type { ExecutionKind } from './kinds/execution-kind.ts';
import type { AdapterPlan } from './plan-adapter.ts';
import type { RunParts } from './run-parts.ts';
import type { TurnInput } from './turn-input.ts';
import type { Turns } from './turn-loop.ts';

/** The workspace of the run's issue, for the duration of its turns. */
export interface WorkspaceAtHand {
  program: ProgramSpec;
  held: Awaited<ReturnType<typeof prepareWorkspace>>['held'];
  /** Null if the program may only read. */
  files: ReturnType<typeof filesFor>;
  /** Runs the project's set-up command if it is due. */
  setUp(): Promise<void>;
  /** The text about it that is appended to the prompt. */
  describe(): string;
  /**
   * Stores what the run left and releases the workspace.
   * @param ended why nothing is stored; null: it is. Throws RunStopped.
   */
  leave(turns: Turns, ended: () => Promise<string | null>): Promise<void>;
}

/** Null for a run without one: no program, no issue, or a kind that uses none. */
export async function enterWorkspace(
  settings: ExecutionSettings,
  { run, kind, plan }: { run: ClaimedRun; kind: ExecutionKind; plan: AdapterPlan },
  { held, scrubber, transcript }: RunParts,
): Promise<WorkspaceAtHand | null> {
  const { issue_id } = run;
  const { program } = plan.task;
  if (program === undefined || issue_id === null || !kind.sessions) return null;
  const sources = settings.workspaces;
  const workspace = await prepareWorkspace(sources, { ...run, issue_id }, held, transcript);
  for (const secret of workspace.secrets) scrubber.addSecret(secret);
  const author = authorOf(settings.config.public_url, run.agent_id, workspace.facts.agent_name);
  const own = programIn(program, workspace, author);
  const commands = new ProjectCommands(settings.config, workspace, own, { transcript, scrubber });
  let setup_problem: string | null = null;
  return {
    program: own,
    held: workspace.held,
    files: filesFor({ ...plan.task, program: own }, workspace),
    setUp: async () => {
      setup_problem = await commands.setUp(held.signal);
    },
    describe: () => describeWorkspace(workspace, { setup_problem }),
    leave: async (turns, ended) => {
      try {
        if (!held.ours) return;
        const ok = turns.failure === null;
        const as_host = own.container === null && own.sandbox === undefined;
        const check = ok ? await commands.check(held.signal) : undefined;
        const why = await ended();
        if (why !== null) await giveUpWorkspace(sources, { held, transcript }, workspace, why);
        else
          await keepWorkspace(sources, run, { held, transcript }, workspace, { ok, author, check, as_host });
      } catch (err) {
        if (!(err instanceof RunNotHeld)) throw err;
        held.stop('lost');
        throw new RunStopped('lost');
      } finally {
        // What it wrote may still be being removed.
        await ended();
        await workspace.close();
      }
    },
  };
}

export function addWorkspaceToPrompt(input: TurnInput, workspace: WorkspaceAtHand | null): TurnInput {
  if (workspace === null) return input;
  const { system_prompt, messages } = input.first;
  const extended = messages.map((message, index) =>
    index < messages.length - 1
      ? message
      : { ...message, content: `${message.content}\n\n${workspace.describe()}` },
  );
  return { ...input, first: { system_prompt, messages: extended } };
}
