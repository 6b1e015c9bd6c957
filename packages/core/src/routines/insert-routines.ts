import { rowsOf, schema, type Tx } from '@acp/db';
import { newId, newToken, type Vault } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { assertRoom } from '../bounds/index.ts';
import { secretPlace } from './trigger-store.ts';

const { routine_triggers, routines } = schema;

export interface NewRoutine {
  id: string;
  name: string;
  description: string | null;
  assignee_agent_id: string | null;
  project_id: string | null;
  goal_id: string | null;
  title_template: string;
  body_template: string | null;
  priority: string;
  status: string;
  concurrency_policy: string;
}

export interface NewTrigger {
  routine_id: string;
  kind: string;
  label: string | null;
  signing_mode: string;
  replay_window_sec: number;
  cron_expression: string | null;
  timezone: string | null;
}

/**
 * Inserts lists for an import, which has checked references and schedules. Triggers are disabled; a signed webhook gets a secret
 * that no one has seen, until it is rotated.
 * @throws unavailable for a signed webhook without an encryption key
 */
export async function insertRoutines(
  tx: Tx,
  company_id: string,
  list: readonly NewRoutine[],
  triggers: readonly NewTrigger[],
  vault: Vault,
): Promise<void> {
  if (list.length === 0) return;
  await assertRoom(tx, 'routines', company_id, list.length);
  const values = list.map((row) => ({ ...row, company_id }));
  await tx.execute(sql`insert into routines ${rowsOf(routines, values)}`);
  if (triggers.length === 0) return;
  const rows = triggers.map((trigger) => {
    const id = newId();
    const secret_sealed = trigger.signing_mode === 'none' ? null : vault.seal(newToken(), secretPlace(id));
    return { ...trigger, id, company_id, enabled: false, secret_sealed };
  });
  await tx.execute(sql`insert into routine_triggers ${rowsOf(routine_triggers, rows)}`);
}
