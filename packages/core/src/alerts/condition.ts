import type { Alert, AlertKind } from '@acp/contract';
import type { Tx } from '@acp/db';
import type { Said } from '@acp/kernel';
import { sql, type SQL } from 'drizzle-orm';

/** Something that stands now; as long as a look finds it, its alert fires. */
export interface Condition {
  kind: AlertKind;
  /** What it is about within its kind. */
  key: string;
  level: Alert['level'];
  message: Said;
  company_id?: string | null;
  entity_type?: string;
  entity_id?: string;
  /** Its slice has told admins already: no second notification, though channels outside hear of it. */
  told?: boolean;
}

/** Where the environment draws the lines; the same as `/readyz`. */
export interface AlertLimits {
  /** Null: backups are not looked at. */
  backup_max_age_hours: number | null;
  disk_pct: number;
  worker_error_rate_pct: number;
}

export type ConditionReader = (tx: Tx, limits: AlertLimits) => Promise<Condition[]>;

/** Of one kind at a time: a machine that is falling apart is told in some lines, not in thousands. */
export const MOST_OF_A_KIND = 50;

/** Whether an expression of SQL is true now. */
export async function holds(tx: Tx, condition: SQL): Promise<boolean> {
  const { rows } = await tx.execute<{ holds: boolean }>(sql`select ${condition} as holds`);
  return rows[0]?.holds === true;
}
