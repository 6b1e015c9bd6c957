import type { JobTick, PluginContext } from '@acp/plugin-sdk';
import { github, type GithubItem } from './github-api.ts';
import { follow } from './mentions.ts';
import { settingsOf } from './settings.ts';

const PAGE = 100;
/** Maximum number of pages per run; the next run continues where this one ended. */
const PAGES = 10;
const FIRST_MS = 30 * 86_400_000;

/** Fetches what has changed since the last run: webhooks get lost while no one listens. */
export async function resync({ scheduled_at }: JobTick, context: PluginContext): Promise<object> {
  const seen: Record<string, number> = {};
  for (const repository of settingsOf(context).repositories)
    seen[repository] = await resyncOne(context, repository, scheduled_at);
  return seen;
}

async function resyncOne(context: PluginContext, repository: string, now: string): Promise<number> {
  const key = `since:${repository}`;
  const { value } = await context.host.kv.get(key);
  let since = typeof value === 'string' ? value : new Date(Date.parse(now) - FIRST_MS).toISOString();
  let seen = 0;
  for (let page = 1; page <= PAGES && !context.signal.aborted; page += 1) {
    // Continues from the last item rather than by page number: items changed in the meantime move to the end.
    const query = new URLSearchParams({
      state: 'all',
      sort: 'updated',
      direction: 'asc',
      per_page: String(PAGE),
      since,
    });
    const found = await github<GithubItem[]>(
      context,
      'GET',
      `/repos/${repository}/issues?${query.toString()}`,
    );
    for (const each of found) await follow(context, repository, each);
    seen += found.length;
    const last = found.at(-1)?.updated_at ?? since;
    const moved = last !== since;
    since = last;
    if (found.length < PAGE || !moved) break;
  }
  await context.host.kv.set(key, since);
  return seen;
}
