import { type Actor, type Run, type RunStatus, runStatuses } from '@acp/contract';
import { cutText } from '@acp/kernel';
import type { RunRow } from './types.ts';

// Events carry text up to 2 KB (decisions 4).
const EVENT_TEXT_BYTES = 2048;

/** Whether the caller may read the run's subject and output, and not only see that it ran. */
export function mayReadRun(run: Pick<RunRow, 'id' | 'private_to_user_id'>, reader: Actor | null): boolean {
  if (run.private_to_user_id === null) return true;
  if (reader?.kind === 'user') return reader.user_id === run.private_to_user_id;
  // The run's own program.
  return reader?.kind === 'agent' && reader.run_id === run.id;
}

/**
 * The public run: lease, fence and the engine's internal columns are omitted.
 * @param reader who will see it; null: anyone who may see the company
 */
export function presentRun(run: RunRow, reader: Actor | null): Run {
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
    is_private: run.private_to_user_id !== null,
    status: runStatus(run.status),
    wake_reason: run.wake_reason,
    trigger_detail: run.trigger_detail,
    adapter_type: run.adapter_type,
    model: run.model,
    input_tokens: run.input_tokens,
    output_tokens: run.output_tokens,
    cached_tokens: run.cached_tokens,
    cost_usd: Number(run.cost_usd),
    summary: mayReadRun(run, reader) ? run.summary : null,
    error: run.error,
    retry_of_run_id: run.retry_of_run_id,
    claimed_by: run.claimed_by,
    created_at: run.created_at,
    started_at: run.started_at,
    finished_at: run.finished_at,
  };
}

/** The run as event data, which is sent to everyone. */
export function summarizeRun(run: RunRow): Run {
  const shown = presentRun(run, null);
  return { ...shown, summary: cut(shown.summary), error: cut(shown.error) };
}

function cut(text: string | null): string | null {
  return text === null ? null : cutText(text, EVENT_TEXT_BYTES);
}

function runStatus(status: string): RunStatus {
  const known = runStatuses.find((each) => each === status);
  if (known === undefined) throw new Error(`a run has an unknown status ${status}`);
  return known;
}
