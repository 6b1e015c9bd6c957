import type { Change } from '../activity/index.ts';
import { summarizeRun } from './present.ts';
import type { RunRow } from './types.ts';

export function queuedChange(run: RunRow): Change {
  return runChange(run, 'run.queued', { wake_reason: run.wake_reason });
}

export function startedChange(run: RunRow): Change {
  return {
    ...runChange(run, 'run.started'),
    event: { type: 'heartbeat_started', data: summarizeRun(run) },
  };
}

/** `run.succeeded`, `run.failed` or `run.cancelled`. */
export function endedChange(run: RunRow): Change {
  const shown = summarizeRun(run);
  return {
    ...runChange(run, `run.${run.status}`, run.error === null ? {} : { error: shown.error }),
    event: { type: 'heartbeat_completed', data: shown },
  };
}

export function runChange(run: RunRow, action: string, details: Record<string, unknown> = {}): Change {
  return {
    company_id: run.company_id,
    action,
    entity_type: 'run',
    entity_id: run.id,
    details: { agent_id: run.agent_id, issue_id: run.issue_id, ...details },
  };
}
