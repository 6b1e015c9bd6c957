import { eventTable, matchesPattern, topicsOf } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { and, eq, inArray, sql } from 'drizzle-orm';
import { recordChanges, systemActor } from '../activity/index.ts';
import { ofLiveCompany } from '../companies/index.ts';
import { advanceCursor, closeCursor, readCursor, type SequencedEvent } from '../events/index.ts';
import { CURSOR } from './cursor.ts';
import { hostOf, type WebhookRow } from './present.ts';

const { companies, webhook_deliveries, webhooks } = schema;

interface FanOut {
  /** There are more events. */
  more: boolean;
  /** There are active webhooks. */
  listening: boolean;
}

const BATCH = 200;
/** What one step creates at most, unless its first event alone is more: a company has fifty webhooks, and a client ten per task. */
const [MOST_BYTES, MOST_ROWS, MOST_TASKS] = [8_000_000, 5000, 10];
/** Type of deliveries for tasks. */
export const TASK = 'a2a.task';

/** A task's state to be sent; `told` only changes with something that a client cares about. */
export interface TaskBody {
  body: string;
  told: string;
}

/** Bodies for task webhooks, by id. */
export type TaskBodies = (tx: Tx, of: readonly WebhookRow[]) => Promise<ReadonlyMap<string, TaskBody>>;

/**
 * Creates deliveries for the next events and moves the cursor along. Without an enabled webhook the cursor is closed, and events
 * cost nothing.
 * @returns undefined if the cursor is not open or another process is using it
 */
export async function fanOut(tx: Tx, taskBodies?: TaskBodies): Promise<FanOut | undefined> {
  const batch = await readCursor(tx, CURSOR, BATCH);
  if (batch === undefined) return undefined;
  const { missed } = batch;
  const listening = await enabledWebhooks(tx, missed > 0 ? undefined : companiesOf(batch.events));
  if (missed > 0) await recordMissedEvents(tx, listening, missed);
  const [ofTasks = [], ofEvents = []] = [true, false].map((isOfTask) =>
    listening.filter(({ issue_id }) => (issue_id !== null) === isOfTask),
  );
  const { events, deliveries } = upToTheLimit(batch.events, ofEvents, ofTasks);
  const made = [
    ...deliveries,
    ...(taskBodies === undefined ? [] : await taskDeliveries(tx, ofTasks, events, taskBodies)),
  ];
  if (made.length > 0) {
    await tx.insert(webhook_deliveries).values(made);
    const ids = [...new Set(made.map(({ webhook_id }) => webhook_id))];
    await tx
      .update(webhooks)
      .set({ next_attempt_at: sql`coalesce(next_attempt_at, now())` })
      .where(inArray(webhooks.id, ids));
  }
  if (listening.length === 0 && !(await anyEnabled(tx))) {
    await closeCursor(tx, CURSOR);
    return { more: false, listening: false };
  }
  const isCut = events.length < batch.events.length;
  await advanceCursor(tx, CURSOR, { ...batch, ...(isCut && { up_to: events.at(-1)!.seq }) });
  return { more: isCut || events.length === BATCH, listening: true };
}

/** The first events and their deliveries; what is beyond the limits of one step waits for the next. */
function upToTheLimit(
  events: readonly SequencedEvent[],
  ofEvents: readonly WebhookRow[],
  ofTasks: readonly WebhookRow[],
) {
  const tasks = new Set(ofTasks.map(({ issue_id }) => `issue:${issue_id ?? ''}`));
  const touched = new Set<string>();
  const deliveries: (typeof webhook_deliveries.$inferInsert)[] = [];
  let bytes = 0;
  for (const [index, event] of events.entries()) {
    const wanting = ofEvents.filter((webhook) => wants(webhook, event));
    const body = wanting.length === 0 ? '' : bodyOf(event);
    for (const topic of topicsOf(event.type, event.data)) if (tasks.has(topic)) touched.add(topic);
    bytes += body.length * wanting.length;
    const rows = deliveries.length + wanting.length;
    if (index > 0 && (bytes > MOST_BYTES || rows > MOST_ROWS || touched.size > MOST_TASKS))
      return { events: events.slice(0, index), deliveries };
    for (const webhook of wanting) deliveries.push(deliveryOf(webhook, event, body));
  }
  return { events, deliveries };
}

const companiesOf = (events: readonly SequencedEvent[]) => [
  ...new Set(events.flatMap(({ company_id }) => company_id ?? [])),
];

/** Locked against changes: otherwise a webhook disabled in the meantime would get deliveries that no one fails. */
async function enabledWebhooks(tx: Tx, company_ids: string[] | undefined): Promise<WebhookRow[]> {
  if (company_ids?.length === 0) return [];
  const rows = await tx
    .select({ webhook: webhooks })
    .from(webhooks)
    .innerJoin(companies, ofLiveCompany(webhooks.company_id))
    .where(and(eq(webhooks.enabled, true), company_ids && inArray(webhooks.company_id, company_ids)))
    .orderBy(webhooks.id)
    .for('no key update', { of: webhooks });
  return rows.map(({ webhook }) => webhook);
}

async function anyEnabled(tx: Tx): Promise<boolean> {
  const rows = await tx.select({ id: webhooks.id }).from(webhooks).where(eq(webhooks.enabled, true)).limit(1);
  return rows.length > 0;
}

function typeOf(event: SequencedEvent): string | null {
  return Object.hasOwn(eventTable, event.type)
    ? eventTable[event.type as keyof typeof eventTable].plugin_type
    : null;
}

function wants(webhook: WebhookRow, event: SequencedEvent): boolean {
  const type = typeOf(event);
  return (
    type !== null &&
    webhook.company_id === event.company_id &&
    webhook.from_seq < event.seq &&
    (webhook.events as string[]).some((pattern) => matchesPattern(pattern, type))
  );
}

function bodyOf(event: SequencedEvent): string {
  const { id, company_id, occurred_at, data } = event;
  return JSON.stringify({ id, type: typeOf(event) ?? event.type, company_id, occurred_at, data });
}

function deliveryOf({ id, company_id }: WebhookRow, event: SequencedEvent, body: string) {
  const { id: event_id, seq } = event;
  return { webhook_id: id, company_id, seq, event_id, event_type: typeOf(event) ?? event.type, body };
}

/**
 * One delivery for each webhook whose task may have changed and differs from what was last sent. The row stores what was sent,
 * since most events of an issue change nothing visible to a client.
 */
async function taskDeliveries(
  tx: Tx,
  listening: readonly WebhookRow[],
  events: readonly SequencedEvent[],
  taskBodies: TaskBodies,
) {
  const last = new Map(
    events.flatMap((event) => topicsOf(event.type, event.data).map((topic) => [topic, event] as const)),
  );
  const concerned = listening.flatMap((webhook) => {
    const event = last.get(`issue:${webhook.issue_id ?? ''}`);
    return event && webhook.from_seq < event.seq ? [{ webhook, event }] : [];
  });
  if (concerned.length === 0) return [];
  const bodies = await taskBodies(
    tx,
    concerned.map(({ webhook }) => webhook),
  );
  const news = concerned.flatMap(({ webhook, event: { seq, id: event_id } }) => {
    const now = bodies.get(webhook.id);
    if (now === undefined || now.told === webhook.told) return [];
    return [
      { webhook_id: webhook.id, company_id: webhook.company_id, seq, event_id, event_type: TASK, ...now },
    ];
  });
  if (news.length > 0)
    await tx.execute(sql`
      update webhooks w set told = n.told
      from jsonb_to_recordset(${JSON.stringify(news.map(({ webhook_id, told }) => ({ webhook_id, told })))}::jsonb)
        as n(webhook_id uuid, told text)
      where w.id = n.webhook_id`);
  return news.map(({ told: _told, ...delivery }) => delivery);
}

/** No scheduler ran for longer than events are kept. */
async function recordMissedEvents(tx: Tx, listening: readonly WebhookRow[], missed: number): Promise<void> {
  await recordChanges(
    tx,
    systemActor('webhooks'),
    listening.map(({ id, company_id, url }) => {
      const entity = { entity_type: 'webhook', entity_id: id };
      const message = `The webhook to ${hostOf(url)} fell behind: up to ${missed} events were removed before they were sent`;
      return {
        company_id,
        ...entity,
        event: { type: 'notification', data: { topic: 'webhook', level: 'error', message, ...entity } },
      };
    }),
  );
}
