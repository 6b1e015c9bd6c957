/** Warnings for the admin before and after an import. Pure. */
import type { BundleOf, CompanyBundle } from '@acp/contract';
import { secretNames } from '../secrets/index.ts';
import type { BundleIds } from './bundle-ids.ts';
import type { PlannedProviders } from './plan-writes.ts';

interface ImportFacts {
  bundle: CompanyBundle;
  ids: BundleIds;
  /** Names of the company's secrets. */
  secrets: ReadonlySet<string>;
  /** Labels of providers that need a key but got none. */
  without_key: readonly string[];
  /** Labels and variables of providers whose key was taken from the environment. */
  keys_from_env: PlannedProviders['keys_from_env'];
  /** Warnings about the company's own default provider and provider of embeddings, which were kept. */
  kept_roles: readonly string[];
  merged: boolean;
}

export function warningsOf(facts: ImportFacts): string[] {
  const { ids, merged, bundle } = facts;
  const agents = ids.fresh('agents');
  const triggers = ids.fresh('routines').flatMap((routine) => routine.triggers ?? []);
  return [
    ...(agents.length > 0 ? ['Heartbeats of the new agents are switched off.'] : []),
    ...(triggers.length > 0
      ? [
          `${count(triggers.length, 'schedule or webhook starts', 'schedules and webhooks start')} switched off.`,
        ]
      : []),
    ...(triggers.some(({ signing_mode }) => signing_mode && signing_mode !== 'none')
      ? ['Signed webhooks have new secrets: rotate them to see them.']
      : []),
    ...(ids
      .fresh('issues')
      .some(({ assignee, status }) => assignee && status !== 'done' && status !== 'cancelled')
      ? ['Nobody is woken for the imported issues.']
      : []),
    ...(merged && (bundle.company.agent_defaults ?? bundle.company.default_worker_tags)
      ? ['The settings of the company stay as they are.']
      : []),
    ...facts.without_key.map((label) => `Provider ${label} has no key and is switched off.`),
    ...facts.keys_from_env.map(
      ([label, name, base_url]) =>
        `Provider ${label} takes its key from ${name} of the service’s environment${base_url ? ` and sends it to ${base_url}` : ''}.`,
    ),
    ...facts.kept_roles,
    // A company-wide skill instructs all agents, including existing ones.
    ...ids
      .fresh('skills')
      .flatMap(({ name, company_wide }) =>
        company_wide ? [`Skill ${name} is taught to every agent of the company.`] : [],
      ),
    ...agents.flatMap(rightsOf),
    ...ids.fresh('projects').flatMap(commandsOf),
    ...missingSecrets(facts),
  ];
}

/** Permissions beyond the defaults: no one should grant them by accident. */
function rightsOf(agent: BundleOf<'agents'>): string[] {
  const { name, permissions, adapter_type = 'llm', adapter_config = {}, externally_available } = agent;
  const given = Object.entries(permissions ?? {}).filter(([key, on]) => on && key === 'secrets.use');
  return [
    ...(given.length > 0 ? [`Agent ${name} may use the company’s secrets.`] : []),
    ...(adapter_config.allow_dangerous_permissions === true
      ? [`Agent ${name} may act without asking for permission (allow_dangerous_permissions).`]
      : []),
    ...(externally_available === true ? [`Agent ${name} can be called by other instances.`] : []),
    ...(adapter_type !== '' && adapter_type !== 'llm'
      ? [`Agent ${name} runs by the adapter ${adapter_type}.`]
      : []),
  ];
}

function commandsOf({ name, setup_command, check_command, push_after_run }: BundleOf<'projects'>): string[] {
  const commands = [setup_command, check_command].filter((each) => each !== null && each !== undefined);
  return [
    ...(commands.length > 0 ? [`Project ${name} runs in its workspaces: ${commands.join('; ')}.`] : []),
    ...(push_after_run ? [`Project ${name} pushes to its repository by itself.`] : []),
  ];
}

function missingSecrets({ bundle, ids, secrets }: ImportFacts): string[] {
  const defaults = bundle.company.agent_defaults?.adapter_config;
  const named = [
    ...ids.fresh('agents').map(({ name, adapter_config }) => [`Agent ${name}`, adapter_config] as const),
    ...ids
      .fresh('projects')
      .map(
        ({ name, env, repo_secret }) =>
          [`Project ${name}`, { env, git: repo_secret ? `\${secret:${repo_secret}}` : '' }] as const,
      ),
    ['The default for new agents', defaults] as const,
  ];
  return named.flatMap(([who, config]) => {
    const names = [...secretNames(config)];
    if (names.length === 0) return [];
    const missing = names.filter((name) => !secrets.has(name));
    const tail = missing.length > 0 ? `; the company has no ${missing.join(', ')}` : '';
    return [`${who} is given the secrets ${names.join(', ')}${tail}.`];
  });
}

const count = (n: number, one: string, many: string): string => `${n} ${n === 1 ? one : many}`;
