import type { Alert, AlertKind } from '@acp/contract';
import { advice } from './advice.ts';
import type { AlertRow } from './check-conditions.ts';

export function presentAlert(row: AlertRow): Alert {
  const { id, company_id, message, entity_type, entity_id, opened_at, last_seen_at, resolved_at } = row;
  const { acknowledged_at, acknowledged_by_user_id, muted_until } = row;
  const kind = row.kind as AlertKind;
  return {
    id,
    company_id,
    kind,
    level: row.level as Alert['level'],
    message,
    mend: advice[kind],
    entity_type,
    entity_id,
    status: row.status as Alert['status'],
    opened_at,
    last_seen_at,
    resolved_at,
    acknowledged_at,
    acknowledged_by_user_id,
    muted_until,
  };
}
