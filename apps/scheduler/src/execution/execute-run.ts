import type { ClaimedRun, TakenBackRun } from '@acp/core';
import { Scrubber, type SpanOptions, traced } from '@acp/kernel';
import { applyRemoteResult, type BroughtResult } from './remote-result.ts';
import type { ExecutionSettings } from './execution-settings.ts';
import { RunStopped } from './held-run.ts';
import type { HeldRun } from './held-run.ts';
import { kindOfRun } from './kinds/index.ts';
import { countRun } from './run-metrics.ts';
import type { RunParts } from './run-parts.ts';
import { Transcript } from './transcript.ts';
import { workOnRun } from './work-on-run.ts';
import { writeEnd } from './write-end.ts';

/**
 * Executes a claimed run from its prompt to its end. Never rejects: a failure becomes the run's error, and a run that is
 * no longer ours is left to its new owner.
 */
export async function executeRun(settings: ExecutionSettings, run: ClaimedRun, held: HeldRun): Promise<void> {
  const parts = partsOf(settings, held, { awaited: kindOfRun(run.kind).awaited });
  const began = performance.now();
  await logUnlessWritten(settings, run, async () => {
    await traced('invoke_agent', spanOf(run), async (span) => {
      const result = await workOnRun(settings, run, parts, kindOfRun(run.kind));
      if (result === 'handed over') return;
      if (result.failure !== null) span.fail(result.failure.category);
      await writeEnd(settings, run, parts, result);
      countRun(run.kind, result, (performance.now() - began) / 1000);
    });
  });
}

/**
 * Finishes a run that was taken back with a delivered result, starting at the first unrecorded verb.
 * Never rejects; a run abandoned on the way can be taken back again.
 */
export async function endWithResult(
  settings: ExecutionSettings,
  taken: TakenBackRun,
  held: HeldRun,
  brought: BroughtResult,
): Promise<void> {
  const { run } = taken;
  const parts = partsOf(settings, held, { first_seq: taken.next_seq });
  await logUnlessWritten(settings, run, async () => {
    const result = await applyRemoteResult(settings, taken, parts, brought);
    await writeEnd(settings, run, parts, result);
  });
}

/** The span is a child of whatever caused the run, in whichever process that was. */
function spanOf({ traceparent, kind, agent_id, issue_id, run_id, company_id }: ClaimedRun): SpanOptions {
  return {
    kind: 'consumer',
    parent: traceparent,
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.id': agent_id,
      'gen_ai.conversation.id': issue_id ?? run_id,
      'acp.run.id': run_id,
      'acp.run.kind': kind,
      'acp.company.id': company_id,
    },
  };
}

function partsOf(
  { transcripts: writer, logger }: ExecutionSettings,
  held: HeldRun,
  options: { first_seq?: number; awaited?: boolean },
): RunParts {
  const scrubber = new Scrubber();
  return { held, scrubber, transcript: new Transcript({ writer, held, scrubber, logger, ...options }) };
}

async function logUnlessWritten(
  { logger }: ExecutionSettings,
  { run_id }: ClaimedRun,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (err) {
    // The run was lost, or its end could not be written: the lease expires, and the sweep finishes the run.
    if (err instanceof RunStopped) logger.warn('a run was given up', { run_id, why: err.why });
    else logger.error('the end of a run was not written', { run_id, error: err });
  }
}
