/** Alerts: problems that an operator or a company admin has to deal with (specification, Events and observability 7). */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { Notification } from './events.ts';
import { Nullable, OneOf, PageQuery, Timestamp, Uuid } from './schema-kit.ts';

export const alertKinds = [
  'backup_failed',
  'backup_late',
  'budget',
  'dead_jobs',
  'disk',
  'key_expiring',
  'license',
  'provider_outage',
  'scheduler_lost',
  'stuck_runs',
  'webhook_off',
  'workers_failing',
] as const;
export type AlertKind = (typeof alertKinds)[number];

export const alertStatuses = ['firing', 'resolved'] as const;
export const alertLevels = ['warning', 'error'] as const;

export const Alert = Type.Object({
  id: Uuid,
  /** Null: concerns the instance. */
  company_id: Nullable(Uuid),
  kind: OneOf(alertKinds),
  level: OneOf(alertLevels),
  message: Type.String(),
  /** How to fix it. */
  mend: Type.String(),
  entity_type: Nullable(Type.String()),
  entity_id: Nullable(Uuid),
  status: OneOf(alertStatuses),
  opened_at: Timestamp,
  last_seen_at: Timestamp,
  resolved_at: Nullable(Timestamp),
  /** Someone is dealing with it: no more reminders are sent. */
  acknowledged_at: Nullable(Timestamp),
  acknowledged_by_user_id: Nullable(Uuid),
  /** Until then nothing is sent about it or its follow-ups. */
  muted_until: Nullable(Timestamp),
});
export type Alert = Static<typeof Alert>;

export const ListAlerts = Type.Object({ ...PageQuery, status: Type.Optional(OneOf(alertStatuses)) });
export type ListAlerts = Static<typeof ListAlerts>;

/** A month at most: an alert that should stay silent forever means a wrong threshold. */
export const MuteAlert = Type.Object({ hours: Type.Integer({ minimum: 0, maximum: 720 }) });
export type MuteAlert = Static<typeof MuteAlert>;

export const messageChannels = ['mail', 'slack', 'telegram', 'webhook'] as const;
export type MessageChannel = (typeof messageChannels)[number];
export const messageStatuses = ['pending', 'sent', 'failed'] as const;

/** A message sent or waiting to be sent outside; never its text. */
export const OutgoingMessage = Type.Object({
  id: Uuid,
  channel: OneOf(messageChannels),
  purpose: Type.String(),
  recipient: Type.String(),
  subject: Type.String(),
  status: OneOf(messageStatuses),
  attempts: Type.Integer(),
  error: Nullable(Type.String()),
  created_at: Timestamp,
  finished_at: Nullable(Timestamp),
});
export type OutgoingMessage = Static<typeof OutgoingMessage>;

/** A message to admins; the process keeps the most recent ones in memory. */
export const RecentNotification = Type.Object({
  id: Uuid,
  company_id: Nullable(Uuid),
  occurred_at: Timestamp,
  ...Notification.properties,
});
export type RecentNotification = Static<typeof RecentNotification>;

const instance = { auth: BEARER, role: 'instance_admin', scope: { by: 'none' }, status: 200 } as const;
const company = { auth: BEARER, role: 'admin', status: 200 } as const;
const list = {
  method: 'GET',
  query: ListAlerts,
  response: Type.Array(Alert),
  tx: 'none',
  paged: true,
} as const;
const act = { method: 'POST', response: Alert, tx: 'write' } as const;

export const alertEndpoints = {
  list: endpoint({
    ...instance,
    ...list,
    id: 'alerts.list',
    path: '/api/admin/alerts',
    doc: 'Alerts of the instance and of all companies, newest first.',
  }),
  listOfCompany: endpoint({
    ...company,
    ...list,
    id: 'alerts.list-of-company',
    path: '/api/companies/{companyId}/alerts',
    scope: { by: 'company', param: 'companyId' },
    doc: 'Alerts of the company, newest first.',
  }),
  acknowledgeAny: endpoint({
    ...instance,
    ...act,
    id: 'alerts.acknowledge-any',
    path: '/api/admin/alerts/{alertId}/acknowledge',
    doc: 'Acknowledges the alert: no more reminders are sent.',
  }),
  muteAny: endpoint({
    ...instance,
    ...act,
    id: 'alerts.mute-any',
    path: '/api/admin/alerts/{alertId}/mute',
    body: MuteAlert,
    example: { hours: 8 },
    doc: 'Mutes the alert and repetitions of it for that many hours; 0 unmutes it.',
  }),
  acknowledge: endpoint({
    ...company,
    ...act,
    id: 'alerts.acknowledge',
    path: '/api/alerts/{alertId}/acknowledge',
    scope: { by: 'alert', param: 'alertId' },
    doc: 'The same, for admins of the alert’s company.',
  }),
  mute: endpoint({
    ...company,
    ...act,
    id: 'alerts.mute',
    path: '/api/alerts/{alertId}/mute',
    scope: { by: 'alert', param: 'alertId' },
    body: MuteAlert,
    example: { hours: 8 },
    doc: 'The same, for admins of the alert’s company.',
  }),
  recent: endpoint({
    ...instance,
    id: 'alerts.recent',
    method: 'GET',
    path: '/api/admin/alerts/recent',
    response: Type.Array(RecentNotification),
    tx: 'none',
    doc: 'The last 200 messages to admins that reached this process, newest first; cleared by a restart.',
  }),
  test: endpoint({
    ...instance,
    id: 'alerts.test',
    method: 'POST',
    path: '/api/admin/alerts/test',
    response: Type.Array(OutgoingMessage),
    tx: 'write',
    doc: 'Sends a test message to everyone who receives the instance’s alerts, through every configured channel; 409 if there is none.',
  }),
  listMessages: endpoint({
    ...instance,
    id: 'alerts.list-messages',
    method: 'GET',
    path: '/api/admin/messages',
    query: Type.Object(PageQuery),
    response: Type.Array(OutgoingMessage),
    tx: 'none',
    paged: true,
    doc: 'Messages sent or waiting to be sent by mail and to the operator’s channels, newest first; kept for a week.',
  }),
};
