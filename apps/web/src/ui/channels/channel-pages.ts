import {
  type Channel,
  type ChannelKnowledge,
  type ChannelNews,
  channelKnowledge,
  channelKinds,
  channelNews,
  type ChannelPerson,
} from '@acp/contract';
import { asShown } from '../kit/as-shown.ts';
import { choice, type Offer } from '../kit/choice.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import { timeAgo, words } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { attributes, each, html, type Html, when } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { checkbox, formError, input, postButton, select, status } from '../kit/parts.ts';
import { type Column, table } from '../kit/table.ts';

const kindNames: Record<Channel['kind'], string> = texts({ slack: 'Slack', telegram: 'Telegram' });

const knowledgeNames: Record<ChannelKnowledge, string> = texts({
  note: 'Notes and memories',
  finding: 'Findings',
  document: 'Documents of issues',
  attachment: 'Texts of attachments',
  issue: 'Outcomes of closed issues',
  agent_file: 'Shared files of agents',
  index: 'The compiled index',
});

const newsNames: Record<ChannelNews, string> = texts({
  approvals: 'Approvals to decide',
  attention: 'Issues waiting for a person',
  alerts: 'Alerts of the company (admins)',
});

export const channelColumns: Column<Channel>[] = [
  { label: 'Name', cell: ({ id, name }) => html`<a href="/channels/${id}">${name}</a>` },
  { label: 'App', cell: ({ kind }) => html`${kindNames[kind]}` },
  { label: 'Bot', cell: ({ bot_name }) => html`${bot_name === null ? '' : `@${bot_name}`}` },
  { label: 'State', cell: stateOf },
  { label: 'Last heard from', cell: ({ last_seen_at }) => timeAgo(last_seen_at) },
];

function stateOf({ enabled, status: state, failing_since }: Channel): Html {
  if (!enabled) return status('disabled');
  if (failing_since === null) return status(state === 'connected' ? 'ready' : 'waiting');
  return html`!${status('failing')} <span class="soft small">first failed !${timeAgo(failing_since)}</span>`;
}

/** State of the connection as the service knows it, and what to do. No event reports it: the part asks until it is connected. */
export const channelState = (channel: Channel): Html =>
  html`<section class="card" data-source="/channels/${channel.id}/part/state">
    !${channelStatePart(channel)}
  </section>`;

export function channelStatePart(channel: Channel): Html {
  const { enabled, status: state, last_error, bot_name, kind, last_seen_at } = channel;
  const said = !enabled
    ? t`It is switched off.`
    : state === 'connected'
      ? bot_name === null
        ? t`It is connected.`
        : t`It is connected as @${bot_name}.`
      : state === 'refused'
        ? t`${kindNames[kind]} rejects it: fix the problem shown below. It is retried every two minutes.`
        : state === 'failing'
          ? t`The connection fails: it is retried within a minute.`
          : t`A scheduler connects it within seconds.`;
  return html`<h2>State</h2>
    <p!${attributes({ 'data-awaits': enabled && state !== 'connected' })}>!${stateOf(channel)} ${said}</p>
    !${when(enabled && last_error, (error) => html`<p class="error">${error}</p>`)}
    !${when(last_seen_at, (seen) => html`<p class="soft">Last heard from ${kindNames[kind]}: !${timeAgo(seen)}</p>`)}
    <div class="row">
      !${postButton(`/channels/${channel.id}/test`, 'Send me a test message', { class: 'quiet' })}
      !${postButton(`/channels/${channel.id}/enabled`, enabled ? 'Switch off' : 'Switch on', { class: 'quiet', fields: { enabled: enabled ? '' : 'on' } })}
    </div>`;
}

export interface ChannelChoices {
  agents: Offer;
  /** Names of the company's secrets. */
  secrets: readonly string[];
}

const FIELDS = ['name', 'kind', 'bot_token', 'app_token', 'default_agent_id', 'groups'] as const;

/** Form for a new or an existing channel. Tokens are company secrets, given by name. */
export function channelForm(
  path: string,
  channel: Channel | null,
  { agents, secrets }: ChannelChoices,
  error: string | null,
  form: FormValues | null,
): Html {
  const errors = new FieldErrors(error, FIELDS);
  const nameOf = (token: string | null | undefined): string => token?.slice(9, -1) ?? '';
  const secretChoices = (none: string) => [
    { value: '', label: none },
    ...secrets.map((name) => ({ value: name, label: name })),
  ];
  const kind = channel?.kind ?? form?.text('kind') ?? 'telegram';
  return html`<form class="card" method="post" action="${path}">
    <h2>${channel === null ? t`New channel` : t`What it is`}</h2>
    !${formError(errors.general)}
    <div class="row">
      !${input({ name: 'name', label: 'Name', required: true, value: form?.sent('name') ?? channel?.name ?? '', hint: 'Lower case letters, digits and dashes', error: errors.of('name') })}
      !${when(channel === null, () => select({ name: 'kind', label: 'App', value: kind, choices: channelKinds.map((value) => ({ value, label: kindNames[value] })), error: errors.of('kind') }))}
      !${choice({ name: 'default_agent_id', label: 'Who answers', value: form?.sent('default_agent_id') ?? channel?.default_agent_id ?? '', offer: agents, fixed: [{ value: '', label: t`the agent each person chooses` }], error: errors.of('default_agent_id') })}
    </div>
    <div class="row">
      !${select({ name: 'bot_token', label: 'Secret with the bot token', required: true, value: form?.sent('bot_token') ?? nameOf(channel?.bot_token), choices: secretChoices(t`choose a secret`), error: errors.of('bot_token') })}
      !${when(channel?.kind !== 'telegram', () => select({ name: 'app_token', label: 'Secret with the app-level token', value: form?.sent('app_token') ?? nameOf(channel?.app_token), choices: secretChoices(t`none`), hint: 'Slack only: xapp-…', error: errors.of('app_token') }))}
    </div>
    !${input({ name: 'groups', label: 'Groups', items: '', value: form?.sent('groups') ?? channel?.groups.join(', ') ?? '', hint: 'Comma-separated ids of the groups and channels in which it answers. It always answers in private.', error: errors.of('groups') })}
    <button>${channel === null ? t`Add` : t`Save`}</button>
  </form>`;
}

const refusedColumns = (id: string): Column<Channel['refused_groups'][number]>[] => [
  { label: 'Group', cell: (group) => html`${group.title}` },
  { label: 'Id', cell: (group) => html`<code>${group.id}</code>` },
  {
    label: 'Allowed',
    kind: 'acts',
    cell: (group) =>
      postButton(`/channels/${id}/groups`, 'Let it answer here', {
        class: 'quiet small',
        fields: { group: group.id },
      }),
  },
];

/** Groups that addressed the bot without being allowed: one click admits them. */
export function refusedGroups({ id, refused_groups }: Channel): Html {
  return when(
    refused_groups.length > 0,
    () =>
      html`<section class="card">
        <h2>Addressed in other groups</h2>
        <p class="soft">It did not answer there. Everyone in a group can read what agents say in it.</p>
        !${table('Groups', refusedColumns(id), refused_groups)}
      </section>`,
  );
}

export function knowledgeForm({ id, kind, knowledge }: Channel): Promise<Html> {
  return asShown(
    html`<form class="card" method="post" action="/channels/${id}/knowledge">
      <h2>What prompts may contain</h2>
      <p class="soft">
        Replies leave the service for ${kindNames[kind]}. Of the company’s knowledge, its chats’ prompts
        contain only what is ticked.
      </p>
      !${each(channelKnowledge, (source) => checkbox({ name: source, label: knowledgeNames[source], checked: knowledge.includes(source) }))}
      <button>Save</button>
    </form>`,
  );
}

export const personColumns: Column<ChannelPerson>[] = [
  { label: 'Person', cell: ({ user_name }) => html`${user_name}` },
  {
    label: 'There',
    cell: ({ external_name, external_id }) => html`${external_name} <code>${external_id}</code>`,
  },
  { label: 'Notified about', cell: ({ notify }) => html`${notify.map(words).join(', ')}` },
  { label: 'Since', cell: ({ created_at }) => timeAgo(created_at) },
  {
    label: 'End',
    kind: 'acts',
    cell: ({ channel_id, user_id, user_name }) =>
      postButton(`/channels/${channel_id}/people/${user_id}/remove`, 'Unpair', {
        class: 'quiet small',
        confirm: t`End the pairing of ${user_name}?`,
      }),
  },
];

export function deletion({ id, name }: Channel): Html {
  return html`<section class="card danger">
    <h2>Delete</h2>
    <p>Permanent, including its pairings and unsent messages. Chats are kept.</p>
    !${postButton(`/channels/${id}/delete`, 'Delete permanently', { class: 'danger', confirm: t`Delete the channel ${name}?` })}
  </section>`;
}

export const newsBoxes = (chosen: readonly ChannelNews[]): Html =>
  html`!${each(channelNews, (name) => checkbox({ name, label: newsNames[name], checked: chosen.includes(name) }))}`;
