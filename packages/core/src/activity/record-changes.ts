import type { Actor, EventData, EventType } from '@acp/contract';
import { writeAtCommit, signal, type Statement, type Tx } from '@acp/db';
import { cutText, mapTexts } from '@acp/kernel';
import { actorId, actorType } from './actor-columns.ts';

type PublishedEvent =
  | { [T in EventType]: { type: T; data: EventData<T> } }[EventType]
  | CreatedNow<'comment_created'>;

/** `created_at` is the transaction's own instant, filled in by the database: nothing waits for the row. */
interface CreatedNow<T extends EventType> {
  type: T;
  data: Omit<EventData<T>, 'created_at'>;
  created_now: true;
}

/** A mutation: its entry in the company's activity, the event for clients, or both. */
export interface Change {
  /** The actor, if one call records the acts of several. */
  actor?: Actor;
  /** Null for events outside of any company: they only reach instance admins and leave no activity. */
  company_id: string | null;
  /** `issue.updated`; absent if only an event is needed. */
  action?: string;
  entity_type: string;
  entity_id: string;
  details?: Record<string, unknown>;
  event?: PublishedEvent;
}

/**
 * Writes activity entries and outbox rows in one statement at the end of the caller's transaction, and notifies the sequencer
 * after the commit. A transaction's events keep the order in which they were recorded.
 */
export async function recordChanges(tx: Tx, actor: Actor, changes: readonly Change[]): Promise<void> {
  if (changes.length === 0) return;
  // Public endpoints act on behalf of someone (a trigger's routine, an invite's holder), never as themselves.
  if (actor.kind === 'anonymous') throw new Error('an anonymous caller changes nothing');
  const rows = changes.map(({ actor: by = actor, event, ...change }) => ({
    ...change,
    actor_type: actorType(by),
    actor_id: actorId(by),
    actor_name: by.name,
    event_type: event?.type,
    data: event?.data,
    created_now: event !== undefined && 'created_now' in event,
  }));
  writeAtCommit(tx, writeChanges, rows);
  // Idle schedulers sleep: any change may make something due.
  signal(tx, changes.some((change) => change.event) ? 'events' : 'due', '');
  for (const { event, company_id } of changes)
    if (event?.type === 'notification') signal(tx, 'alerts', company_id ?? '');
}

// In the form of a `Date` in JSON, and to the millisecond, as columns store it.
const CREATED_NOW = `jsonb_build_object('created_at',
      to_char(now()::timestamptz(3) at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))`;

// Built once rather than in every transaction that changes something.
const WRITE_CHANGES = `
    with change as (
      select * from jsonb_to_recordset($1::jsonb) as c(
        index int, actor_type text, actor_id uuid, actor_name text, company_id uuid, action text, entity_type text, entity_id uuid, details jsonb, event_type text, data jsonb, created_now boolean)
    ), entry as (
      insert into activity (company_id, actor_type, actor_id, actor_name, action, entity_type, entity_id, details)
      select company_id, actor_type, actor_id, actor_name, action, entity_type, entity_id, coalesce(details, '{}')
      from change where action is not null and company_id is not null
    )
    insert into outbox (company_id, type, data)
    select company_id, event_type, case when created_now then data || ${CREATED_NOW} else data end
    from change where event_type is not null order by index`;

// Most operations record a single change with both: a quarter cheaper than the list.
const writeOne = (data: string): string => `
    with entry as (
      insert into activity (company_id, actor_type, actor_id, actor_name, action, entity_type, entity_id, details)
      values ($1, $2, $3, $4, $5, $6, $7, $8)
    )
    insert into outbox (company_id, type, data) values ($1, $9, ${data})`;
const WRITE_ONE = writeOne('$10');
const WRITE_ONE_CREATED = writeOne(`$10::jsonb || ${CREATED_NOW}`);

interface WrittenChange extends Omit<Change, 'actor' | 'event'> {
  actor_type: string;
  actor_id: string | null;
  actor_name: string;
  event_type: string | undefined;
  data: unknown;
  created_now: boolean;
}

async function writeChanges(changes: readonly WrittenChange[]): Promise<Statement> {
  const [only] = changes;
  if (only !== undefined && changes.length === 1 && hasBoth(only))
    return Promise.resolve({
      text: only.created_now ? WRITE_ONE_CREATED : WRITE_ONE,
      values: valuesOf(only),
    });
  const rows = changes.map((change, index) => ({ ...change, index }));
  return Promise.resolve({ text: WRITE_CHANGES, values: [shortJson(rows)] });
}

const LONGEST_TEXT_BYTES = 8192;

/**
 * JSON with its long texts cut. An event is copied to each webhook and each open tab, and an entry is kept for years: both name what
 * has changed, and are not where a text of a megabyte is read.
 */
function shortJson(value: unknown): string {
  const json = JSON.stringify(value);
  if (json === undefined || json.length <= LONGEST_TEXT_BYTES) return json;
  return JSON.stringify(mapTexts(JSON.parse(json), (text) => cutText(text, LONGEST_TEXT_BYTES)));
}

const hasBoth = ({ company_id, action, event_type }: WrittenChange): boolean =>
  company_id !== null && action !== undefined && event_type !== undefined;

const valuesOf = ({ details = {}, data, ...change }: WrittenChange): unknown[] => [
  change.company_id,
  change.actor_type,
  change.actor_id,
  change.actor_name,
  change.action,
  change.entity_type,
  change.entity_id,
  shortJson(details),
  change.event_type,
  shortJson(data),
];
