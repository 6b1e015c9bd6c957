import type { Alert, AlertKind } from '@acp/contract';
import type { Tx } from '@acp/db';
import type { Said } from '@acp/kernel';
import { sql, type SQL } from 'drizzle-orm';

/** A problem that exists now; its alert fires as long as checks find it. */
export interface Condition {
  kind: AlertKind;
  /** Identifies its subject within its kind. */
  key: string;
  level: Alert['level'];
  message: Said;
  company_id?: string | null;
  entity_type?: string;
  entity_id?: string;
  /** Its slice has already notified admins: no second notification, but external channels still receive it. */
  told?: boolean;
}

/** Thresholds set by the environment; the same as for `/readyz`. */
export interface AlertLimits {
  /** Null: backups are not checked. */
  backup_max_age_hours: number | null;
  disk_pct: number;
  worker_error_rate_pct: number;
}

export type ConditionReader = (tx: Tx, limits: AlertLimits) => Promise<Condition[]>;

/** Maximum number per kind in one check: a failing machine causes some alerts, not thousands. */
export const MOST_OF_A_KIND = 50;

/** Whether an SQL expression is true now. */
export async function holds(tx: Tx, condition: SQL): Promise<boolean> {
  const { rows } = await tx.execute<{ holds: boolean }>(sql`select ${condition} as holds`);
  return rows[0]?.holds === true;
}
