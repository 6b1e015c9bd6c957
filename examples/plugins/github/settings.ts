import type { PluginContext } from '@acp/plugin-sdk';

export interface Settings {
  /** `owner/name`: no other repository is read, written or listened to. */
  repositories: readonly string[];
  api_url: string;
  /** Names of the company's secrets. */
  token_secret: string;
  webhook_secret: string;
  /** Whether to comment on issues of the company that are mentioned at GitHub. */
  comment: boolean;
  /** Whether to comment at GitHub when such an issue is done or cancelled. */
  announce: boolean;
}

const REPOSITORY = /^[A-Za-z0-9][\w-]*\/[A-Za-z0-9_.][\w.-]*$/;

/** Throws if the configuration is wrong, with the reason: the plugin then does not start. */
export function settingsOf({ config }: Pick<PluginContext, 'config'>): Settings {
  const { repositories } = config;
  if (!Array.isArray(repositories) || repositories.length === 0)
    throw new Error('config.repositories must list repositories: ["owner/name"]');
  for (const repository of repositories)
    if (typeof repository !== 'string' || !REPOSITORY.test(repository))
      throw new Error(`config.repositories: ${JSON.stringify(repository)} is not owner/name`);
  const api_url = text(config, 'api_url', 'https://api.github.com').replace(/\/+$/, '');
  if (!api_url.startsWith('https://')) throw new Error('config.api_url must begin with https://');
  return {
    repositories: (repositories as string[]).map((repository) => repository.toLowerCase()),
    api_url,
    token_secret: text(config, 'token_secret', 'GITHUB_TOKEN'),
    webhook_secret: text(config, 'webhook_secret', 'GITHUB_WEBHOOK_SECRET'),
    comment: yesOrNo(config, 'comment', true),
    announce: yesOrNo(config, 'announce', false),
  };
}

function text(config: PluginContext['config'], name: string, otherwise: string): string {
  const value = config[name] ?? otherwise;
  if (typeof value !== 'string' || value === '') throw new Error(`config.${name} must be a text`);
  return value;
}

function yesOrNo(config: PluginContext['config'], name: string, otherwise: boolean): boolean {
  const value = config[name] ?? otherwise;
  if (typeof value !== 'boolean') throw new Error(`config.${name} must be true or false`);
  return value;
}

/** Throws for a repository that the admins did not list: the token may give access to many more. */
export function listed(context: PluginContext, repository: string): string {
  const name = repository.toLowerCase();
  if (!settingsOf(context).repositories.includes(name))
    throw new Error(`${repository} is not among the repositories of this plugin`);
  return name;
}
