import { type Config, repositoryRoot } from '@acp/kernel';
import type { ProgramLimits, SandboxSpec } from '../task.ts';

export type LimitsConfig = Pick<Config, 'sandbox_cpu_limit' | 'sandbox_memory_limit' | 'sandbox_pids_limit'>;

/** The operator's limits for an agent's program, in whatever kind of sandbox. */
export const sandboxLimits = (config: LimitsConfig): ProgramLimits => ({
  memory: config.sandbox_memory_limit,
  cpus: config.sandbox_cpu_limit,
  pids: config.sandbox_pids_limit,
});

export type ShutInConfig = LimitsConfig & Pick<Config, 'home' | 'plugin_control_groups'>;

/** What every sandbox on this machine has, whatever is in it and wherever it reaches. */
export const shutIn = (
  config: ShutInConfig,
  bubblewrap: string,
): Pick<SandboxSpec, 'bubblewrap' | 'hidden' | 'limits' | 'control_groups'> => ({
  bubblewrap,
  hidden: [config.home, repositoryRoot],
  limits: sandboxLimits(config),
  control_groups: config.plugin_control_groups,
});
