import type { ClaimedRun, RunResult } from '@acp/core';
import { reportRefused } from '../egress/report-refused.ts';
import { type ExecutionSettings, pricesOf } from './execution-settings.ts';
import { handOver } from './hand-over.ts';
import { type ExecutionKind, workOf } from './kinds/execution-kind.ts';
import { retryTransient } from './retry-transient.ts';
import { type AdapterPlan, isHandedOver, planAdapter } from './plan-adapter.ts';
import { reserveTurn } from './run-budget.ts';
import { failureOf, faultOf, type RunFailure } from './run-failure.ts';
import type { RunParts } from './run-parts.ts';
import { workInFolders } from './work-in-folders.ts';
import { noTurns, type Turns } from './turn-loop.ts';
import { totalUsage } from './usage.ts';

/**
 * Handles prompt, adapter, turns and verbs of a run. The result contains any failure along with what the run had produced
 * by then, even for a stopped run. Throws RunStopped if the run is no longer ours.
 */
export async function workOnRun(
  settings: ExecutionSettings,
  run: ClaimedRun,
  parts: RunParts,
  kind: ExecutionKind,
): Promise<RunResult | 'handed over'> {
  const { database, logger } = settings;
  const { held, scrubber, transcript } = parts;
  transcript.add('status', { status: 'running', wake_reason: run.wake_reason });
  let turns = noTurns;
  let plan: AdapterPlan | undefined;
  try {
    const work = await retryTransient(held, logger, async () =>
      workOf(kind, { tx: database.db, recall: settings.recall }, run, held.signal),
    );
    if (isHandedOver(run)) {
      const prices = pricesOf(settings, run);
      const budget = { database, logger, run, held, prices, model: '', metered: false };
      await reserveTurn(budget, { system_prompt: '', messages: [] }, []);
      await handOver({ database, logger, held, transcript, kind, work }, run);
      return 'handed over';
    }
    const planned = await retryTransient(held, logger, async () =>
      planAdapter(
        settings,
        { ...run, fresh: !kind.sessions, in_workspace: kind.sessions && run.issue_id !== null },
        work.agent,
      ),
    );
    plan = planned;
    for (const secret of plan.secrets) scrubber.addSecret(secret);
    turns = await workInFolders(settings, { run, kind, work, plan }, parts);
  } catch (err) {
    held.assertOurs();
    turns = { ...turns, failure: failureOf(err) };
  }
  await reportRefused(settings, run, plan?.task.program, transcript);
  return resultOf(settings, run, parts, { kind, plan, turns });
}

function resultOf(
  settings: ExecutionSettings,
  run: ClaimedRun,
  { scrubber }: RunParts,
  { kind, plan, turns }: { kind: ExecutionKind; plan: AdapterPlan | undefined; turns: Turns },
): RunResult {
  const { logger } = settings;
  const { run_id } = run;
  const session = kind.sessions ? sessionAfter(plan, turns) : undefined;
  return {
    failure: faultOf(turns.failure, { scrubber, logger, run_id }),
    text: turns.prose.filter((prose) => prose !== '').join('\n\n') || null,
    partial: turns.partial,
    usage: totalUsage(plan?.provider ?? 'none', turns.usage, pricesOf(settings, run)),
    changed: turns.changed,
    rehearsed: turns.rehearsed,
    session: session === undefined ? undefined : { session, version: plan?.session_version ?? null },
    provider_id: plan?.provider_id ?? null,
  };
}

/** Drops a session that failed permanently on resume, since it would fail the next run as well. */
function sessionAfter(plan: AdapterPlan | undefined, { failure, session }: Turns): Turns['session'] {
  const resumed = plan?.task.program?.session ?? null;
  return resumed !== null && isPermanent(failure) ? null : session;
}

function isPermanent(failure: RunFailure | null): boolean {
  return failure?.category === 'permanent';
}
