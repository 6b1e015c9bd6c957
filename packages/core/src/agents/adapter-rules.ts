/** Which resources of the machine and the cloud an adapter_config may name (decisions 7.33). Pure: no tx, no clock. */
import { type Actor, assertAdapterDraft } from '@acp/contract';
import { forbidden, invalid, said } from '@acp/kernel';
import { isCompanyAdmin } from './policy.ts';

type AdapterConfig = Record<string, unknown>;

/** The operator's lists; if one is empty, only admins may choose. */
export interface AdapterRules {
  /** SERVICE_DOCKER_IMAGES. */
  docker_images: readonly string[];
  /** SERVICE_CLI_SANDBOX_IMAGE, which is always allowed. */
  cli_sandbox_image: string | null;
  /** SERVICE_LAMBDA_FUNCTIONS. */
  lambda_functions: readonly string[];
}

const noLists: AdapterRules = { docker_images: [], cli_sandbox_image: null, lambda_functions: [] };

/**
 * Checks that the configuration fits its adapter and names nothing that its author may not choose. Unchanged values are not
 * the author's choice.
 * @throws invalid for a malformed configuration and for unlisted values, forbidden where only admins may choose
 */
export function assertAdapter(
  actor: Actor,
  company_id: string,
  before: AdapterConfig,
  after: { adapter_type: string; adapter_config: AdapterConfig },
  rules: AdapterRules = noLists,
): void {
  const { adapter_type, adapter_config: config } = after;
  assertAdapterDraft(adapter_type, config);
  const foreign = namesOutside(config, rules);
  if (foreign !== undefined) throw invalid(said`adapter_config.${foreign} is not allowed on this instance`);
  if (isCompanyAdmin(actor, company_id)) return;
  for (const { key, list } of named(rules)) {
    const chosen = config[key] !== undefined && config[key] !== before[key];
    const isGiven = key === 'image' && config[key] === rules.cli_sandbox_image;
    if (chosen && list.length === 0 && !isGiven) throw forbidden(said`adapter_config.${key} is for admins`);
  }
}

/** The first key with an unlisted value, if any: checked again when a run uses it. */
export function namesOutside(config: AdapterConfig, rules: AdapterRules): string | undefined {
  const outside = named(rules).find(({ key, list }) => {
    const value = config[key];
    const isGiven = key === 'image' && value === rules.cli_sandbox_image;
    return value !== undefined && list.length > 0 && !isGiven && !list.some((each) => each === value);
  });
  return outside?.key;
}

function named({ docker_images, lambda_functions }: AdapterRules) {
  return [
    { key: 'image', list: docker_images },
    { key: 'function_name', list: lambda_functions },
  ];
}
