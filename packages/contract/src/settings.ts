/** Instance settings, which override the environment's defaults (decisions 7.7). An absent setting is unset. */
import { Type, type Static } from 'typebox';
import { BoundSettings } from './bounds.ts';
import { Name, Nullable, OneOf } from './schema-kit.ts';

export const instanceSettings = {
  instance_name: Name,
  /** Who may create companies. */
  company_creation: OneOf(['admins']),
  trash_retention_days: Type.Integer({ minimum: 1, maximum: 36_500 }),
  run_retention_days: Type.Integer({ minimum: 1, maximum: 36_500 }),
  /** How long the cursors of plugins, channels and webhooks may lag behind (decisions 10.12). */
  event_retention_days: Type.Integer({ minimum: 1, maximum: 366 }),
  /** Unset: kept forever. Dropped by quarter, so data may be kept up to that much longer. */
  activity_retention_days: Type.Integer({ minimum: 90, maximum: 36_500 }),
  /** Likewise. Lifetime budgets created later only count what is still there. */
  cost_event_retention_days: Type.Integer({ minimum: 90, maximum: 36_500 }),
  /** A cron expression with five fields. */
  backup_schedule: Type.String({ pattern: '^(off|\\S+( \\S+){4})$', maxLength: 200 }),
  default_adapter_type: Type.String({ minLength: 1, maxLength: 100 }),
  /** Emergency stop: no runs start. */
  runs_paused: Type.Boolean(),
  company_max_concurrent_runs: Type.Integer({ minimum: 1, maximum: 100_000 }),
  /** Everyone who signs in needs a second factor. */
  require_second_factor: Type.Boolean(),
  /**
   * New passwords must be neither common ones nor the user's own name or address. Unset: those that people choose on pages, not those
   * that programs send to the API.
   */
  refuse_common_passwords: Type.Boolean(),
  /** Minutes of inactivity after which a session ends; unset: only its lifetime counts. */
  session_idle_minutes: Type.Integer({ minimum: 5, maximum: 10_080 }),
  security_event_retention_days: Type.Integer({ minimum: 1, maximum: 36_500 }),
  bounds: BoundSettings,
};

export type SettingKey = keyof typeof instanceSettings;
export type SettingValue<K extends SettingKey> = Static<(typeof instanceSettings)[K]>;

export function isSettingKey(key: string): key is SettingKey {
  return Object.hasOwn(instanceSettings, key);
}

const nullableSettings = {
  instance_name: Nullable(instanceSettings.instance_name),
  company_creation: Nullable(instanceSettings.company_creation),
  trash_retention_days: Nullable(instanceSettings.trash_retention_days),
  run_retention_days: Nullable(instanceSettings.run_retention_days),
  event_retention_days: Nullable(instanceSettings.event_retention_days),
  activity_retention_days: Nullable(instanceSettings.activity_retention_days),
  cost_event_retention_days: Nullable(instanceSettings.cost_event_retention_days),
  backup_schedule: Nullable(instanceSettings.backup_schedule),
  default_adapter_type: Nullable(instanceSettings.default_adapter_type),
  runs_paused: Nullable(instanceSettings.runs_paused),
  company_max_concurrent_runs: Nullable(instanceSettings.company_max_concurrent_runs),
  require_second_factor: Nullable(instanceSettings.require_second_factor),
  refuse_common_passwords: Nullable(instanceSettings.refuse_common_passwords),
  session_idle_minutes: Nullable(instanceSettings.session_idle_minutes),
  security_event_retention_days: Nullable(instanceSettings.security_event_retention_days),
  bounds: Nullable(instanceSettings.bounds),
} satisfies Record<SettingKey, unknown>;

export const InstanceSettings = Type.Object(nullableSettings);
export type InstanceSettings = Static<typeof InstanceSettings>;

/** Null clears a setting; unknown keys are rejected (decisions 7.7). */
export const UpdateInstanceSettings = Type.Partial(Type.Object(nullableSettings), {
  additionalProperties: false,
});
export type UpdateInstanceSettings = Static<typeof UpdateInstanceSettings>;

/** Operational flags with their defaults (decisions 7.7). */
export const flags = {
  councils: { default: true, description: 'Councils of agents may be convened.' },
  auto_findings: { default: true, description: 'Findings are extracted from runs of agents that opted in.' },
  compiled_knowledge: { default: true, description: 'Knowledge is compiled into an index for prompts.' },
  prompt_evolution: { default: false, description: 'System prompts may be evolved.' },
  plugins: { default: true, description: 'Plugin processes may be started.' },
  remote_workers: { default: true, description: 'Remote workers may register and claim tasks.' },
  mcp: { default: true, description: 'The model-context-protocol endpoint answers.' },
  a2a: { default: true, description: 'The agent-to-agent endpoints answer.' },
} as const satisfies Record<string, { default: boolean; description: string }>;

export type FlagName = keyof typeof flags;

export function isFlagName(name: string): name is FlagName {
  return Object.hasOwn(flags, name);
}

export const flagNames: readonly FlagName[] = Object.keys(flags).filter(isFlagName);
