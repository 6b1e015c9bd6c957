import { type Run, type RunEvent, type RunStatus, runStatuses } from '@acp/contract';
import { cutText } from '@acp/kernel';
import type { RunRow } from './types.ts';

// Events carry text up to 2 KB (decisions 4).
const EVENT_TEXT_BYTES = 2048;

/** The public run: lease, fence and the engine's own columns stay inside. */
export function presentRun(run: RunRow): Run {
  return {
    id: run.id,
    company_id: run.company_id,
    agent_id: run.agent_id,
    kind: run.kind,
    subject:
      run.subject_type === null || run.subject_id === null
        ? null
        : { type: run.subject_type, id: run.subject_id },
    issue_id: run.issue_id,
    status: runStatus(run.status),
    wake_reason: run.wake_reason,
    trigger_detail: run.trigger_detail,
    adapter_type: run.adapter_type,
    model: run.model,
    input_tokens: run.input_tokens,
    output_tokens: run.output_tokens,
    cached_tokens: run.cached_tokens,
    cost_usd: Number(run.cost_usd),
    summary: run.summary,
    error: run.error,
    retry_of_run_id: run.retry_of_run_id,
    claimed_by: run.claimed_by,
    created_at: run.created_at,
    started_at: run.started_at,
    finished_at: run.finished_at,
  };
}

/** As data of an event. */
export function summarizeRun(run: RunRow): Run {
  const shown = presentRun(run);
  return { ...shown, summary: cut(shown.summary), error: cut(shown.error) };
}

export function presentRunEvent(row: {
  seq: number;
  kind: string;
  payload: unknown;
  created_at: Date;
}): RunEvent {
  return {
    seq: row.seq,
    kind: row.kind as RunEvent['kind'],
    payload: row.payload as RunEvent['payload'],
    created_at: row.created_at,
  };
}

function cut(text: string | null): string | null {
  return text === null ? null : cutText(text, EVENT_TEXT_BYTES);
}

function runStatus(status: string): RunStatus {
  const known = runStatuses.find((each) => each === status);
  if (known === undefined) throw new Error(`a run has the unknown status ${status}`);
  return known;
}
