/** A user's own channels: which bots know the user, and what they report. */
import { channelEndpoints as rows, channelNews, type MyChannel, type PairingCode } from '@acp/contract';
import { myChannels, presentChannel } from '@acp/core';
import { asShown } from '../kit/as-shown.ts';
import { timeAgo } from '../kit/format.ts';
import { attributes, html, type Html, when } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { emptyState, formError, notice, postButton } from '../kit/parts.ts';
import { shell } from '../kit/shell.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { newsBoxes } from './channel-pages.ts';

const OWN = '/profile/channels';

const done: Record<string, string> = texts({ saved: 'Saved.', unpaired: 'The pairing has ended.' });

async function myChannelsPage(
  { tx, user, query }: UiContext<'none'>,
  error: string | null = null,
  code: PairingCode | null = null,
): Promise<Html> {
  const channels = await myChannels(tx, user);
  const list =
    channels.length === 0
      ? emptyState('No channels', html`Admins of your companies can connect Slack and Telegram.`)
      : (
          await Promise.all(
            channels.map((channel) => channelCard(channel, code?.channel_id === channel.id ? code : null)),
          )
        ).join('');
  return shell({
    title: t`Slack and Telegram`,
    user,
    company: null,
    active: '/profile',
    trail: [{ label: t`Profile`, path: '/profile' }],
    body: html`!${notice(done[query.done ?? ''])}!${formError(error)}!${list}`,
  });
}

async function channelCard(channel: MyChannel, code: PairingCode | null): Promise<Html> {
  const { id, company_name, name } = channel;
  // The code is used elsewhere, which no event reports: until then this part asks, and whenever the reader comes back.
  const source = `${OWN}/${id}/part/pairing?before=${timeOf(channel)}`;
  const live = code === null ? {} : { 'data-source': source, 'data-fresh': true };
  return html`<section class="card">
    <h2>${company_name}: ${name}</h2>
    !${when(code, (given) => codeShown(given, botOf(channel)))}
    <div!${attributes(live)}>!${await pairingPart(channel, code !== null)}</div>
  </section>`;
}

type Pairing = Pick<MyChannel, 'id' | 'kind' | 'bot_name' | 'pairing'>;

function botOf({ kind, bot_name }: Pairing): string {
  const app = kind === 'slack' ? t`Slack` : t`Telegram`;
  return bot_name === null ? t`the bot in ${app}` : t`@${bot_name} in ${app}`;
}

async function pairingPart(channel: Pairing, awaits: boolean): Promise<Html> {
  const { id, pairing } = channel;
  const said =
    pairing === null
      ? html`<p>You are not paired with ${botOf(channel)}.</p>`
      : await pairedPart(id, pairing);
  return html`<div!${attributes({ 'data-awaits': awaits })}>!${said}</div>
    !${postButton(`${OWN}/${id}/code`, pairing === null ? 'Create a code' : 'Pair another account', { class: 'quiet' })}`;
}

const timeOf = ({ pairing }: Pairing): string =>
  pairing === null ? '' : new Date(pairing.created_at).toISOString();

/** What has become of the code: the pairing that it replaces is named by its time. */
async function pairingAfterCode({ tx, user, query, subject }: UiContext<'channel'>): Promise<Html> {
  const [own] = await myChannels(tx, user, subject.id);
  const channel = own ?? { ...presentChannel(subject), pairing: null };
  return pairingPart(channel, timeOf(channel) === query.before);
}

function codeShown({ code, link }: PairingCode, bot: string): Html {
  return html`<div class="notice once" role="status" data-meanwhile>
    <p>
      Send this to ${bot}, in private, within ten minutes. Whoever sends it speaks in your name from then on.
    </p>
    <code>${code}</code>
    !${when(link, (url) => html`<p><a href="${url}" rel="noreferrer">Open Telegram with it</a></p>`)}
  </div>`;
}

async function pairedPart(id: string, pairing: NonNullable<MyChannel['pairing']>): Promise<Html> {
  const news = html`<form method="post" action="${OWN}/${id}/notify">
    <p>Notify me there about:</p>
    !${newsBoxes(pairing.notify)}
    <button>Save</button>
  </form>`;
  return html`<p>
      You are paired as ${pairing.external_name}
      <code>${pairing.external_id}</code>. <span class="soft small">!${timeAgo(pairing.created_at)}</span>
    </p>
    !${await asShown(news)}
    !${postButton(`${OWN}/${id}/unpair`, 'Unpair', { class: 'quiet', confirm: 'End the pairing?' })}`;
}

const failed = (context: UiContext<'none'>, error: string) => myChannelsPage(context, error);

export const myChannelRoutes: UiRoute[] = [
  page(OWN, { scope: { by: 'none' }, role: 'none' }, (c) => myChannelsPage(c)),
  page(
    `${OWN}/{channelId}/part/pairing`,
    { scope: { by: 'channel', param: 'channelId' }, role: 'viewer' },
    pairingAfterCode,
  ),
  action(`${OWN}/{channelId}/code`, rows.pair, {
    // The code is shown only in this response.
    next: (c, code) => myChannelsPage(c, null, code),
    failed,
  }),
  action(`${OWN}/{channelId}/notify`, rows.notify, {
    read: ({ whole }) => ({ notify: channelNews.filter((name) => whole.checked(name)) }),
    edits: (c) => myChannelsPage(c),
    next: () => `${OWN}?done=saved`,
    failed,
  }),
  action(`${OWN}/{channelId}/unpair`, rows.unpair, { next: () => `${OWN}?done=unpaired`, failed }),
];
