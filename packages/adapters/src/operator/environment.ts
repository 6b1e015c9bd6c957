import { adapterTraits } from '@acp/contract';
import { pickEnvironment } from '@acp/kernel';
import type { Config } from '@acp/kernel';

interface ProgramIdentity {
  adapter_type: string;
  run_id: string;
  agent_id: string;
  issue_id: string | null;
  /** Null: the program gets none. */
  api_key: string | null;
}

/**
 * The complete environment of an agent's program (decisions 9): what it needs to run and to reach this service and, for the
 * operator's CLIs, what the operator lists; images are the tenant's choice. It contains none of the service's own secrets.
 */
export function programEnvironment(
  config: Pick<Config, 'cli_env_passthrough' | 'public_url'>,
  home: string,
  { adapter_type, run_id, agent_id, issue_id, api_key }: ProgramIdentity,
): Record<string, string> {
  return {
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    ...pickEnvironment(['PATH', 'LANG', 'TERM']),
    ...(isCli(adapter_type) ? pickEnvironment(config.cli_env_passthrough) : {}),
    HOME: home,
    SERVICE_BASE_URL: config.public_url,
    SERVICE_RUN_ID: run_id,
    SERVICE_AGENT_ID: agent_id,
    ...(issue_id === null ? {} : { SERVICE_ISSUE_ID: issue_id }),
    ...(api_key === null ? {} : { SERVICE_API_KEY: api_key }),
  };
}

/** Whether it runs one of the operator's CLIs, in any kind of sandbox. */
export function isCli(adapter_type: string): boolean {
  return adapterTraits(adapter_type).cli !== null;
}

/** The operator's values whose names suggest secrets, for the Scrubber. */
export function passedSecrets(config: Pick<Config, 'cli_env_passthrough'>): string[] {
  const named = config.cli_env_passthrough.filter((name) => /KEY|TOKEN|SECRET|PASS|CREDENTIAL/i.test(name));
  return Object.values(pickEnvironment(named));
}
