import type { EventOf, PluginContext } from '@acp/plugin-sdk';
import { github } from './github-api.ts';
import { change, type Links, linkKey } from './mirror.ts';
import { settingsOf } from './settings.ts';

/** Comments at GitHub, on items that mention an issue of the company, that the issue has ended. Once per end. */
export async function announce({ data }: EventOf<'issue.updated'>, context: PluginContext): Promise<void> {
  const { announce: wanted, repositories } = settingsOf(context);
  if (!wanted) return;
  const { identifier, status } = data;
  const key = linkKey(identifier);
  const links = (await context.host.kv.get(key)).value as Links | null;
  if (links === null) return;
  const ended = status === 'done' || status === 'cancelled' ? status : null;
  if (links.announced === ended) return;
  await change<Links>(context.host, key, (old) => (old ? { ...old, announced: ended } : undefined));
  if (ended === null) return;
  for (const name of links.items) {
    const [repository = '', number = ''] = name.split('#');
    // The admins may have removed it from the list in the meantime.
    if (!repositories.includes(repository)) continue;
    const path = `/repos/${repository}/issues/${number}/comments`;
    await github(context, 'POST', path, { body: `\`${identifier}\` is ${ended}.` });
  }
}
