import type { PluginContext } from '@acp/plugin-sdk';
import { settingsOf } from './settings.ts';

/** An issue or a pull request, as in GitHub's API and webhooks: only the fields that are used. */
export interface GithubItem {
  number: number;
  title: string;
  body: string | null;
  state: 'open' | 'closed';
  html_url: string;
  updated_at: string;
  user: { login: string } | null;
  labels?: readonly (string | { name?: string })[];
  /** Present on pull requests in the list of issues. */
  pull_request?: { merged_at?: string | null };
  /** Present on pull requests in webhooks. */
  merged_at?: string | null;
  head?: { ref: string };
}

export interface GithubComment {
  body: string | null;
  created_at: string;
  html_url: string;
  user: { login: string } | null;
}

/** Makes one call of the API. Throws the error that GitHub reports, never the token. */
export async function github<T>(
  context: PluginContext,
  method: 'GET' | 'POST',
  path: string,
  body?: object,
): Promise<T> {
  const { api_url, token_secret } = settingsOf(context);
  const response = await context.host.fetch(api_url + path, {
    method,
    headers: {
      authorization: `Bearer ${await context.host.secret(token_secret)}`,
      accept: 'application/vnd.github+json',
      'content-type': 'application/json',
      'x-github-api-version': '2022-11-28',
      'user-agent': 'control-plane-plugin',
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (response.truncated) throw new Error('GitHub answered more than fits');
  if (!response.ok) throw new Error(`GitHub answered ${response.status}: ${await messageOf(response)}`);
  return (await response.json()) as T;
}

async function messageOf(response: {
  json: () => Promise<unknown>;
  headers: Readonly<Record<string, string>>;
}) {
  if (response.headers['x-ratelimit-remaining'] === '0') {
    const reset = new Date(Number(response.headers['x-ratelimit-reset'] ?? 0) * 1000);
    return `the rate limit is used up until ${reset.toISOString()}`;
  }
  const said = (await response.json().catch(() => null)) as { message?: unknown } | null;
  return typeof said?.message === 'string' ? said.message.slice(0, 500) : 'no reason';
}
