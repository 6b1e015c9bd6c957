import type { RunOnDisk } from '../programs/disk-watch.ts';
import type { ExecutionSettings } from './execution-settings.ts';
import { retryTransient } from './retry-transient.ts';
import type { AdapterPlan } from './plan-adapter.ts';
import { failureOf, RunFailure } from './run-failure.ts';
import { placeFiles, releaseFolders } from './run-files.ts';
import type { RunParts } from './run-parts.ts';
import { type PlannedRun, takeTurns } from './take-turns.ts';
import { turnInput } from './turn-input.ts';
import { noTurns, type Turns } from './turn-loop.ts';
import { enterWorkspace, addWorkspaceToPrompt, type WorkspaceAtHand } from './workspace-at-hand.ts';

/** Takes the turns with the agent's files and the workspace in place. Throws nothing but RunStopped. */
export async function workInFolders(
  settings: ExecutionSettings,
  planned: PlannedRun,
  parts: RunParts,
): Promise<Turns> {
  const { run, kind, plan } = planned;
  const { folders } = plan;
  let turns = noTurns;
  const disk = settings.workspaces.disk.open({ run_id: run.run_id });
  try {
    turns = await workOnDisk(settings, planned, parts, disk);
    const why = await disk.ended();
    if (why !== null)
      turns = { ...turns, failure: new RunFailure('permanent', `the program was ended: ${why}`) };
    return turns;
  } finally {
    disk.close();
    if (folders !== null)
      await releaseFolders(folders, kind.sessions ? sessionFolder(plan, turns) : undefined);
  }
}

/** The same while the disk is watched. */
async function workOnDisk(
  settings: ExecutionSettings,
  planned: PlannedRun,
  parts: RunParts,
  disk: RunOnDisk,
): Promise<Turns> {
  const { run, plan } = planned;
  const { held, transcript } = parts;
  const { folders } = plan;
  let turns = noTurns;
  /** What was done until then stands. */
  const fail = (err: unknown): void => {
    held.assertOurs();
    turns = { ...turns, failure: turns.failure ?? failureOf(err) };
  };
  let workspace: WorkspaceAtHand | null = null;
  try {
    if (folders !== null) disk.add(folders.held);
    if (plan.task.program !== undefined)
      plan.task.program = { ...plan.task.program, watch: (kill) => disk.watch(kill) };
    workspace = await enterWorkspace(settings, planned, parts);
    if (workspace !== null) {
      plan.task.program = workspace.program;
      disk.add(workspace.held);
    }
    const input = await retryTransient(held, settings.logger, async () =>
      turnInput(settings, planned, held.signal),
    );
    const files = folders === null ? null : await placeFiles(settings, run, folders, held);
    await workspace?.setUp();
    const withWorkspace = addWorkspaceToPrompt(input, workspace);
    turns = await takeTurns(settings, planned, parts, withWorkspace, workspace?.files ?? null);
    if ((await disk.ended()) === null) await files?.collect(transcript);
  } catch (err) {
    fail(err);
  } finally {
    await workspace?.leave(turns, async () => disk.ended()).catch(fail);
  }
  return turns;
}

/** Folder of the session that the next run may continue. */
function sessionFolder({ task }: AdapterPlan, { session }: Turns): string | undefined {
  return (session === undefined ? task.program?.session : session)?.cwd;
}
