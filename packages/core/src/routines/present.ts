import type {
  Actor,
  NewRoutineTrigger,
  Routine,
  RoutineFired,
  RoutineRun,
  RoutineTrigger,
} from '@acp/contract';
import type { RoutineRow, RoutineRunRow, TriggerRow } from './rows.ts';

export function presentRoutine(row: RoutineRow): Routine {
  return {
    id: row.id,
    company_id: row.company_id,
    name: row.name,
    description: row.description,
    assignee_agent_id: row.assignee_agent_id,
    project_id: row.project_id,
    goal_id: row.goal_id,
    title_template: row.title_template,
    body_template: row.body_template,
    priority: row.priority as Routine['priority'],
    status: row.status as Routine['status'],
    concurrency_policy: row.concurrency_policy as Routine['concurrency_policy'],
    last_fired_at: row.last_fired_at,
    next_fire_at: row.next_fire_at,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

/** Never contains the secret, sealed or not. */
export function presentTrigger(row: TriggerRow) {
  return {
    id: row.id,
    routine_id: row.routine_id,
    kind: row.kind as RoutineTrigger['kind'],
    enabled: row.enabled,
    public_id: row.public_id,
    signing_mode: row.signing_mode as RoutineTrigger['signing_mode'],
    replay_window_sec: row.replay_window_sec,
    label: row.label,
    created_by_user_id: row.created_by_user_id,
    cron_expression: row.cron_expression,
    timezone: row.timezone,
    next_fire_at: row.next_fire_at,
    created_at: row.created_at,
    updated_at: row.updated_at,
  } satisfies RoutineTrigger;
}

/**
 * As everyone but its creator sees it. The address of an unsigned webhook is a credential by itself: it ends with the rights of the
 * one person who was shown it (docs/adr/0051), so nobody else is.
 */
export function presentTriggerTo(reader: Actor, row: TriggerRow): RoutineTrigger {
  const knows = reader.kind === 'user' && reader.user_id === row.created_by_user_id;
  const secret = row.kind === 'webhook' && row.signing_mode === 'none';
  return { ...presentTrigger(row), ...(secret && !knows ? { public_id: null } : {}) };
}

/** @param secret in plain text, which exists nowhere else. */
export function presentNewTrigger(row: TriggerRow, secret: string | null): NewRoutineTrigger {
  return { ...presentTrigger(row), secret };
}

export function presentRoutineRun(row: Omit<RoutineRunRow, 'company_id' | 'due_at'>): RoutineRun {
  return {
    ...outcomeOf(row),
    payload: row.payload,
    payload_sha256: row.payload_sha256,
  };
}

/** The run as sent to plugins, without its payload. */
export function firedEvent(row: RoutineRunRow, routine_name: string): RoutineFired {
  return { ...outcomeOf(row), routine_name };
}

function outcomeOf(row: Omit<RoutineRunRow, 'company_id' | 'due_at'>) {
  return {
    id: row.id,
    routine_id: row.routine_id,
    trigger_id: row.trigger_id,
    source: row.source as RoutineRun['source'],
    status: row.status as RoutineRun['status'],
    issue_id: row.issue_id,
    error: row.error,
    created_at: row.created_at,
  };
}
