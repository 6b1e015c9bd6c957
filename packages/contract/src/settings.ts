/** Instance settings: they override the environment's defaults (decisions 7.7). A setting that is absent is unset. */
import { Type, type Static } from 'typebox';
import { Name, OneOf } from './schema-kit.ts';

export const instanceSettings = {
  instance_name: Name,
  /** Who may create companies. */
  company_creation: OneOf(['admins']),
  trash_retention_days: Type.Integer({ minimum: 1, maximum: 36_500 }),
  run_retention_days: Type.Integer({ minimum: 1, maximum: 36_500 }),
  /** Cron expression of five fields. */
  backup_schedule: Type.String({ pattern: '^\\S+( \\S+){4}$', maxLength: 200 }),
  default_adapter_type: Type.String({ minLength: 1, maxLength: 100 }),
  /** Emergency stop: no run starts. */
  runs_paused: Type.Boolean(),
  company_max_concurrent_runs: Type.Integer({ minimum: 1, maximum: 100_000 }),
};

export type SettingKey = keyof typeof instanceSettings;
export type SettingValue<K extends SettingKey> = Static<(typeof instanceSettings)[K]>;

export function isSettingKey(key: string): key is SettingKey {
  return Object.hasOwn(instanceSettings, key);
}
