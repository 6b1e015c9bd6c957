import type { Alert, MessageChannel } from '@acp/contract';
import type { Tx } from '@acp/db';
import { said, saidText } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { type Change, recordChanges, systemActor } from '../activity/index.ts';
import { type NewMessage, queueMessages } from '../messages/index.ts';
import { instanceName } from '../settings/index.ts';
import type { AlertRow, AlertChanges } from './check-conditions.ts';
import { presentAlert } from './present.ts';

/** Recipients besides the pages, as set by the environment. */
export interface AlertTargets {
  /** Provides the instance's name in subjects if no setting does. */
  public_url: string;
  /** Whether mail can be sent. */
  mail: boolean;
  /** The operator's addresses; empty: the instance's admins. */
  mail_to: readonly string[];
  /** The configured channels of the operator. */
  channels: readonly Exclude<MessageChannel, 'mail'>[];
}

/** Maximum number of recipients, for the instance's admins and for those of each company. */
const MOST_RECIPIENTS = 50;
/** For all companies: the first admin of each before the second of any. */
const MOST_OF_ALL = 1000;
/** Alerts that a message spells out. */
const MOST_SHOWN = 50;

/** Queues the results of a check for everyone concerned: one message per recipient, however many alerts. */
export async function queueAlertMessages(
  tx: Tx,
  changes: AlertChanges,
  targets: AlertTargets,
): Promise<void> {
  const { firing, resolved, already_notified } = changes;
  const all = [...firing, ...resolved];
  if (all.length === 0) return;
  const notified = all.filter(
    (alert) => alert.status === 'resolved' || !already_notified.has(presentAlert(alert).kind),
  );
  await recordChanges(tx, systemActor('alerts'), notified.map(notification));
  const name = await instanceName(tx, targets.public_url);
  const news = targets.channels.map((channel) => messageOf(all, { name, channel, recipient: '' }, targets));
  if (targets.mail)
    for (const [recipient, own] of await recipientsOf(tx, all, targets.mail_to))
      news.push(messageOf(own, { name, channel: 'mail', recipient }, targets));
  await queueMessages(tx, news);
}

function notification(alert: AlertRow): Change {
  const { id, company_id, kind: topic, level, status, message } = alert;
  const entity = { entity_type: 'alert', entity_id: id };
  const passed = status === 'resolved';
  const data = {
    topic,
    level: passed ? ('info' as const) : level === 'error' ? ('error' as const) : ('warning' as const),
    message: passed ? `It has passed: ${message}` : message,
    ...entity,
  };
  return { company_id, ...entity, event: { type: 'notification', data } };
}

/** By address: the operator receives everything, admins of a company only the alerts of their company. */
async function recipientsOf(
  tx: Tx,
  all: readonly AlertRow[],
  operators: readonly string[],
): Promise<Map<string, AlertRow[]>> {
  const companies = [...new Set(all.map(({ company_id }) => company_id))].filter((id) => id !== null);
  const { rows } = await tx.execute<{ email: string; company_id: string | null }>(sql`
    select email, company_id from (
      select u.email, m.company_id, row_number() over (partition by m.company_id order by m.joined_at, m.user_id) as place
      from memberships m join users u on u.id = m.user_id
      where m.role = 'admin' and u.is_active and u.email_verified_at is not null
        and m.company_id in (select value::uuid from jsonb_array_elements_text(${JSON.stringify(companies)}::jsonb))
    ) admin where place <= ${MOST_RECIPIENTS} order by place, company_id limit ${MOST_OF_ALL}`);
  const given = (await operatorAddresses(tx, operators)).map((email) => ({ email, company_id: null }));
  const found = new Map<string, AlertRow[]>();
  for (const { email, company_id } of [...given, ...rows]) {
    const own = all.filter((alert) => company_id === null || alert.company_id === company_id);
    const known = found.get(email) ?? [];
    found.set(email, [...known, ...own.filter((alert) => !known.includes(alert))]);
  }
  return found;
}

/** Recipients of the instance's own alerts. */
export async function operatorAddresses(tx: Tx, operators: readonly string[]): Promise<string[]> {
  if (operators.length > 0) return [...operators];
  const { rows } = await tx.execute<{ email: string }>(sql`
    select email from users where is_active and email_verified_at is not null and instance_role = 'admin'
    order by created_at limit ${MOST_RECIPIENTS}`);
  return rows.map(({ email }) => email);
}

interface To {
  name: string;
  channel: MessageChannel;
  recipient: string;
}

function messageOf(
  alerts: readonly AlertRow[],
  { name, channel, recipient }: To,
  { public_url }: AlertTargets,
): NewMessage {
  const spelled = alerts.slice(0, MOST_SHOWN);
  const shown = spelled.map(presentAlert);
  const sentences = spelled.map(({ said: sentence, message }) => sentence ?? message);
  const [first] = alerts;
  const gist =
    first === undefined || alerts.length > 1
      ? said`${alerts.length} alerts`
      : first.status === 'resolved'
        ? said`Resolved: ${sentences[0]!}`
        : said`${sentences[0]!}`;
  const lines = shown.map(({ status, level, mend }, at) => {
    const message = sentences[at]!;
    if (status === 'resolved') return said`RESOLVED: ${message}`;
    const headed = level === 'error' ? said`ERROR: ${message}` : said`WARNING: ${message}`;
    return said`${headed}\n  ${saidText(mend)}`;
  });
  const pages = [...new Set(shown.map((alert) => public_url + pageOf(alert)))].slice(0, 5);
  return {
    channel,
    purpose: 'alert',
    recipient,
    subject: said`[${name}] ${gist}`,
    body: [...lines, pages.join('\n')],
    ...(channel === 'webhook' && {
      payload: { type: 'alerts', instance: name, url: `${public_url}/admin/alerts`, alerts: shown },
    }),
  };
}

/** Where a recipient sees to the alert: a budget's incident has a page of its own. */
function pageOf({ company_id, status, entity_type, entity_id }: Alert): string {
  if (entity_type === 'budget_incident' && status === 'firing') return `/budget-incidents/${entity_id ?? ''}`;
  return company_id === null ? '/admin/alerts' : `/companies/${company_id}/alerts`;
}
