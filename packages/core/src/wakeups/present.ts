import type { WakeReason, Wakeup } from '@acp/contract';
import type { schema } from '@acp/db';

export type WakeupRow = typeof schema.wakeup_requests.$inferSelect;

export function presentWakeup(row: WakeupRow): Wakeup {
  return {
    id: row.id,
    company_id: row.company_id,
    agent_id: row.agent_id,
    issue_id: row.issue_id,
    reason: row.reason as WakeReason,
    payload: row.payload as Record<string, unknown>,
    status: row.status as Wakeup['status'],
    created_at: row.created_at,
    consumed_at: row.consumed_at,
  };
}
