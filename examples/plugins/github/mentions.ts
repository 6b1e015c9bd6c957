/** Mentions of the company's issues in GitHub's issues and pull requests. */
import { type Host, HostError, type PluginContext } from '@acp/plugin-sdk';
import type { GithubItem } from './github-api.ts';
import { change, type Item, itemKey, type Links, linkKey, remember } from './mirror.ts';
import { settingsOf } from './settings.ts';

/** `ABC-12`, also as it appears in a branch name: `abc-12-login`. */
const IDENTIFIER = /(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9]{1,9}-[1-9]\d{0,6}(?![A-Za-z0-9])/g;
const MOST = 5;

export function identifiersIn({ title, body, head }: GithubItem): string[] {
  const written = [title, body ?? ''].flatMap((text) => text.match(IDENTIFIER) ?? []);
  const branch = (head?.ref.match(IDENTIFIER) ?? []).map((word) => word.toUpperCase());
  const upper = [...branch, ...written].filter((word) => word === word.toUpperCase());
  return [...new Set(upper)].slice(0, MOST);
}

/** Resolves when the latest update has been processed. */
let last: Promise<void> = Promise.resolve();

/** Processes updates one by one: two at the same time could both find that an issue has no comment yet. */
export async function follow(context: PluginContext, repository: string, found: GithubItem): Promise<void> {
  const before = last;
  const done = (async () => {
    await before;
    await tell(context, await remember(context.host, repository, found), found);
  })();
  last = done.catch(() => {});
  await done;
}

/** Comments once per issue and state; words that only look like an identifier match no issue of the company. */
async function tell(context: PluginContext, item: Item, found: GithubItem): Promise<void> {
  if (!settingsOf(context).comment) return;
  for (const identifier of identifiersIn(found)) {
    if (item.told[identifier] === item.state) continue;
    if (!(await commented(context.host, identifier, sentenceOf(item)))) continue;
    item.told[identifier] = item.state;
    await change<Item>(context.host, itemKey(item.repository, item.number), (old) =>
      old ? { ...old, told: { ...old.told, [identifier]: item.state } } : undefined,
    );
    await change<Links>(context.host, linkKey(identifier), (old) => {
      const name = `${item.repository}#${item.number}`;
      if (old?.items.includes(name)) return undefined;
      return { items: [...(old?.items ?? []), name].slice(-20), announced: old?.announced ?? null };
    });
  }
}

async function commented(host: Host, identifier: string, text: string): Promise<boolean> {
  try {
    await host.issues.comment(identifier, text);
    return true;
  } catch (error) {
    if (error instanceof HostError && error.code === 'not_found') return false;
    throw error;
  }
}

const states: Record<Item['state'], string> = { open: 'is open', closed: 'was closed', merged: 'was merged' };

/** Anyone can choose the title: in a code span it mentions no one and links nowhere. */
function sentenceOf({ kind, repository, number, url, title, state, author }: Item): string {
  const name = kind === 'issue' ? 'Issue' : 'Pull request';
  const quoted = title.replaceAll(/[`\r\n]+/g, ' ').trim();
  return `${name} [${repository}#${number}](${url}) \`${quoted}\` by \`${author}\` ${states[state]} at GitHub.`;
}
