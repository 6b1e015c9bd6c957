import type { Alert, AlertKind } from '@acp/contract';
import type { Said } from '@acp/kernel';
import type { SQL } from 'drizzle-orm';

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
  already_notified?: boolean;
}

/** Thresholds set by the environment; the same as for `/readyz`. */
export interface AlertLimits {
  /** Null: backups are not checked. */
  backup_max_age_hours: number | null;
  /** Where the instance's setting names none; none is late if that, or the setting, is `off`. */
  backup_schedule: string;
  disk_pct: number;
  worker_error_rate_pct: number;
}

/** A kind of condition: a select of what is wrong, and how a row of it is reported. */
export interface ConditionQuery {
  rows: (limits: AlertLimits) => SQL;
  /** Its parameter is typed as the select's row, which arrives as JSON: no dates, no bigints. */
  condition: (row: never) => Condition;
}

// Limits per kind in one check. What exceeds one must be what came last: the alert of what is not found any more is resolved.
/** For the instance: a failing machine causes some alerts, not thousands. */
export const MOST_OF_A_KIND = 50;
/** For one company: its alerts must not take the place of others'. */
export const MOST_OF_A_COMPANY = 50;
export const MOST_OF_COMPANIES = 1000;
