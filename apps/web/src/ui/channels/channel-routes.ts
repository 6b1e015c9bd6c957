import { channelEndpoints as rows, channelKnowledge, endpoint, OneOf } from '@acp/contract';
import {
  findChannel,
  listChannelPeople,
  listChannels,
  listSecrets,
  presentChannel,
  setChannelKnowledge,
} from '@acp/core';
import { notFound } from '@acp/kernel';
import { Type } from 'typebox';
import { asShown } from '../kit/as-shown.ts';
import { offerOf } from '../kit/choice.ts';
import { companyPage } from '../kit/company-frame.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { nothingListed, searched, searchedList, searchOf } from '../kit/list-search.ts';
import { emptyState, formError, formLink, notice } from '../kit/parts.ts';
import { moreLink, pageOf, table } from '../kit/table.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import {
  channelColumns,
  type ChannelChoices,
  channelForm,
  channelState,
  channelStatePart,
  deletion,
  knowledgeForm,
  personColumns,
  refusedGroups,
} from './channel-pages.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;
const byChannel = { by: 'channel', param: 'channelId' } as const;

const listPath = (company_id: string): string => `/companies/${company_id}/channels`;

const done: Record<string, string> = texts({
  saved: 'Saved.',
  sent: 'A message is on its way to you.',
  unpaired: 'The pairing has ended.',
  deleted: 'The channel has been deleted.',
});

const MOST_SECRETS = 200;

/** @param answering agents that its field shows now */
async function choicesOf(
  context: UiContext,
  ...answering: readonly (string | null | undefined)[]
): Promise<ChannelChoices> {
  const secrets = await listSecrets(context.tx, context.company_id, { limit: MOST_SECRETS });
  return {
    agents: await offerOf(context, 'agent', ...answering),
    secrets: secrets.items.map(({ name }) => name),
  };
}

async function channelsPage(
  context: UiContext<'company'>,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const { tx, company_id, query } = context;
  const path = listPath(company_id);
  const { items, next_cursor } = await listChannels(tx, company_id, searchOf(query));
  const choices = await choicesOf(context, form?.text('default_agent_id'));
  const list =
    items.length > 0
      ? html`<div class="card">
          !${table('Channels', channelColumns, items)}!${moreLink(searched(path, query), next_cursor, 'Older channels')}
        </div>`
      : nothingListed(path, query, () =>
          emptyState(
            'No channels yet',
            html`People can talk with agents, and decide approvals, in Slack and Telegram. Keep the bot’s
              token as a <a href="/companies/${company_id}/secrets">secret</a>, and name it here.`,
          ),
        );
  return companyPage(context, {
    title: t`Slack and Telegram`,
    active: path,
    actions: items.length > 0 ? formLink(t`New channel`, 'name') : '',
    body: html`!${notice(done[query.done ?? ''])}!${searchedList(path, query, { items, next_cursor }, list)}!${channelForm(path, null, choices, error, form)}`,
  });
}

async function channelPage(
  context: UiContext<'channel'>,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const { tx, company_id, query } = context;
  // Reloaded, since the action may have changed it.
  const row = await findChannel(tx, context.subject.id);
  if (row === undefined) throw notFound();
  const channel = presentChannel(row);
  const own = `/channels/${channel.id}`;
  const path = listPath(company_id);
  const { items, next_cursor } = await listChannelPeople(tx, channel, pageOf(query));
  const people =
    items.length > 0
      ? html`!${table('People', personColumns, items)}!${moreLink(own, next_cursor, 'Earlier pairings')}`
      : html`<p class="soft">
          No one is paired yet: people do so on their <a href="/profile/channels">profile</a>.
        </p>`;
  const typed = form?.are_changes || form?.has('bot_token') ? form : null;
  const choices = await choicesOf(context, channel.default_agent_id, typed?.text('default_agent_id'));
  const fields = channelForm(own, channel, choices, typed && error, typed);
  return companyPage(context, {
    title: channel.name,
    active: path,
    trail: [{ label: t`Slack and Telegram`, path }],
    body: html`!${notice(done[query.done ?? ''])}!${formError(typed ? null : error)}!${channelState(channel)}
      <section class="card">
        <h2>People</h2>
        !${people}
      </section>
      !${refusedGroups(channel)}!${await knowledgeForm(channel)}!${await asShown(fields, typed)}!${deletion(channel)}`,
  });
}

const secretNamed = (name: string): string => `\${secret:${name}}`;

function readChannel(form: FormValues) {
  const [bot_token, app_token] = [form.sent('bot_token'), form.cleared('app_token')];
  return {
    name: form.sent('name')?.trim(),
    ...(bot_token !== undefined && { bot_token: secretNamed(bot_token.trim()) }),
    app_token: app_token && secretNamed(app_token.trim()),
    default_agent_id: form.chosen('default_agent_id'),
    ...(form.has('groups') && { groups: groupsIn(form) }),
  };
}

const groupsIn = (form: FormValues): string[] => [
  ...new Set(
    form
      .text('groups')
      .split(/[\s,]+/)
      .filter((id) => id !== ''),
  ),
];

/** Session-only, as the specification requires: the API has no such row. */
const knowledgeRow = endpoint({
  ...rows.update,
  auth: ['user'],
  body: Type.Object({ knowledge: Type.Array(OneOf(channelKnowledge)) }),
  example: { knowledge: ['note'] },
});

const edits = (c: UiContext<'channel'>): Promise<Html> => channelPage(c);
const saved = (c: UiContext<'channel'>): string => `/channels/${c.subject.id}?done=saved`;

export const channelRoutes: UiRoute[] = [
  page('/companies/{companyId}/channels', { scope: byCompany, role: 'admin' }, (c) => channelsPage(c)),
  action('/companies/{companyId}/channels', rows.create, {
    read: (form) => ({ ...readChannel(form), kind: form.text('kind') }),
    next: (_, { id }) => `/channels/${id}?done=saved`,
    failed: channelsPage,
  }),
  page('/channels/{channelId}', { scope: byChannel, role: 'admin' }, (c) => channelPage(c)),
  page('/channels/{channelId}/part/state', { scope: byChannel, role: 'admin' }, ({ subject }) =>
    channelStatePart(presentChannel(subject)),
  ),
  action('/channels/{channelId}', rows.update, {
    read: readChannel,
    edits,
    next: saved,
    failed: channelPage,
  }),
  action('/channels/{channelId}/enabled', rows.update, {
    read: (form) => ({ enabled: form.checked('enabled') }),
    next: saved,
    failed: channelPage,
  }),
  action('/channels/{channelId}/groups', rows.update, {
    read: async (form, { tx, subject }) => {
      const groups = (await findChannel(tx, subject.id))?.groups ?? [];
      return { groups: [...new Set([...groups, form.text('group')])] };
    },
    next: saved,
    failed: channelPage,
  }),
  action('/channels/{channelId}/knowledge', knowledgeRow, {
    read: ({ whole }) => ({ knowledge: channelKnowledge.filter((name) => whole.checked(name)) }),
    edits,
    handler: (c) => setChannelKnowledge(c.tx, c.actor, c.subject, c.body.knowledge),
    next: saved,
    failed: channelPage,
  }),
  action('/channels/{channelId}/test', rows.test, {
    next: (c) => `/channels/${c.subject.id}?done=sent`,
    failed: channelPage,
  }),
  action('/channels/{channelId}/people/{userId}/remove', rows.removePerson, {
    next: (c) => `/channels/${c.subject.id}?done=unpaired`,
    failed: channelPage,
  }),
  action('/channels/{channelId}/delete', rows.delete, {
    next: (c) => `${listPath(c.company_id)}?done=deleted`,
    failed: channelPage,
  }),
];
