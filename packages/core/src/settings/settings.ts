import { type SettingKey, type SettingValue, createValidator, instanceSettings } from '@acp/contract';
import { type Tx, schema } from '@acp/db';
import { eq, sql } from 'drizzle-orm';
import { parseCron } from './cron.ts';

const { instance_settings } = schema;

const schedulePattern = createValidator(instanceSettings.backup_schedule, 'backup_schedule');

type Validators = { readonly [K in SettingKey]: (value: unknown) => SettingValue<K> };

const validators: Validators = {
  instance_name: createValidator(instanceSettings.instance_name, 'instance_name'),
  company_creation: createValidator(instanceSettings.company_creation, 'company_creation'),
  trash_retention_days: createValidator(instanceSettings.trash_retention_days, 'trash_retention_days'),
  run_retention_days: createValidator(instanceSettings.run_retention_days, 'run_retention_days'),
  activity_retention_days: createValidator(
    instanceSettings.activity_retention_days,
    'activity_retention_days',
  ),
  cost_event_retention_days: createValidator(
    instanceSettings.cost_event_retention_days,
    'cost_event_retention_days',
  ),
  event_retention_days: createValidator(instanceSettings.event_retention_days, 'event_retention_days'),
  backup_schedule: backupSchedule,
  default_adapter_type: createValidator(instanceSettings.default_adapter_type, 'default_adapter_type'),
  runs_paused: createValidator(instanceSettings.runs_paused, 'runs_paused'),
  company_max_concurrent_runs: createValidator(
    instanceSettings.company_max_concurrent_runs,
    'company_max_concurrent_runs',
  ),
  require_second_factor: createValidator(instanceSettings.require_second_factor, 'require_second_factor'),
  refuse_common_passwords: createValidator(
    instanceSettings.refuse_common_passwords,
    'refuse_common_passwords',
  ),
  session_idle_minutes: createValidator(instanceSettings.session_idle_minutes, 'session_idle_minutes'),
  security_event_retention_days: createValidator(
    instanceSettings.security_event_retention_days,
    'security_event_retention_days',
  ),
  bounds: createValidator(instanceSettings.bounds, 'bounds'),
};

/** @throws invalid if the value is not valid for this key */
export function checkedSetting(key: SettingKey, value: unknown): SettingValue<SettingKey> {
  return validators[key](value);
}

// Beyond what a schema can express: existing hours and months.
function backupSchedule(value: unknown): string {
  const schedule = schedulePattern(value);
  return schedule === 'off' ? schedule : parseCron(schedule, 'backup_schedule').expression;
}

/** Undefined if the instance has no value of its own and the environment's default applies. */
export async function getSetting<K extends SettingKey>(tx: Tx, key: K): Promise<SettingValue<K> | undefined> {
  const [row] = await tx.select().from(instance_settings).where(eq(instance_settings.key, key));
  return row && validators[key](row.value);
}

/** @throws invalid if the value is not valid for this key. */
export async function putSetting<K extends SettingKey>(
  tx: Tx,
  key: K,
  value: SettingValue<K>,
): Promise<void> {
  const checked = validators[key](value);
  await tx
    .insert(instance_settings)
    .values({ key, value: checked })
    .onConflictDoUpdate({
      target: instance_settings.key,
      set: { value: sql`excluded.value`, updated_at: sql`now()` },
    });
}

/** Restores the environment's default. */
export async function clearSetting(tx: Tx, key: SettingKey): Promise<void> {
  await tx.delete(instance_settings).where(eq(instance_settings.key, key));
}

/** The emergency stop, as a condition. */
export const runsPausedHere = sql`coalesce((select value = 'true' from instance_settings where key = 'runs_paused'), false)`;

/** The emergency stop (decisions 7.7): while it is on, no runs start. */
export async function runsPaused(tx: Tx): Promise<boolean> {
  return (await getSetting(tx, 'runs_paused')) ?? false;
}
