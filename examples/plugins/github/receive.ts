import type { PluginContext, WebhookRequest } from '@acp/plugin-sdk';
import type { GithubItem } from './github-api.ts';
import { follow } from './mentions.ts';
import { itemKey } from './mirror.ts';
import { listed, settingsOf } from './settings.ts';
import { signedBy } from './signature.ts';

interface Delivery {
  action?: string;
  issue?: GithubItem;
  pull_request?: GithubItem;
  repository?: { full_name: string };
}

/** Receives GitHub's webhooks `issues`, `pull_request` and `issue_comment`. Anything unsigned is rejected. */
export async function receive({ headers, body }: WebhookRequest, context: PluginContext): Promise<void> {
  const secret = await context.host.secret(settingsOf(context).webhook_secret);
  const bytes = await body.bytes();
  if (!signedBy(secret, bytes, headers['x-hub-signature-256']))
    throw new Error(`delivery ${headers['x-github-delivery'] ?? ''} is not signed with the secret: ignored`);
  const { action, issue, pull_request, repository } = JSON.parse(bytes.toString('utf8')) as Delivery;
  const found = pull_request ?? issue;
  if (found === undefined || repository === undefined) return;
  const name = listed(context, repository.full_name);
  if (action === 'deleted' && headers['x-github-event'] === 'issues') {
    await context.host.kv.delete(itemKey(name, found.number));
    return;
  }
  await follow(context, name, found);
}
