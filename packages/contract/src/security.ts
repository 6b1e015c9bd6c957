/** The security log: events concerning accounts, sessions and keys. */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { JsonObject, Nullable, OneOf, PageQuery, Timestamp, Uuid } from './schema-kit.ts';

export const securityEventKinds = [
  'sign_in.succeeded',
  'sign_in.failed',
  'sign_in.locked',
  'sign_in.refused',
  'second_factor.failed',
  'second_factor.added',
  'second_factor.removed',
  'second_factor.reset',
  'recovery_code.used',
  'password.changed',
  'password_reset.requested',
  'email.change_requested',
  'email.changed',
  'email.confirmed',
  'session.ended',
  'access.refused',
  'key.refused',
  'key.new_address',
  'key.expiring',
  'key.ended',
  'key.kept',
] as const;
export type SecurityEventKind = (typeof securityEventKinds)[number];

export const SecurityEvent = Type.Object({
  id: Uuid,
  kind: OneOf(securityEventKinds),
  company_id: Nullable(Uuid),
  user_id: Nullable(Uuid),
  key_id: Nullable(Uuid),
  subject: Type.String(),
  address: Nullable(Type.String()),
  user_agent: Nullable(Type.String()),
  details: JsonObject,
  created_at: Timestamp,
});
export type SecurityEvent = Static<typeof SecurityEvent>;

const filters = {
  kind: Type.Optional(OneOf(securityEventKinds)),
  user_id: Type.Optional(Uuid),
  /** `from` is inclusive, `to` exclusive. */
  from: Type.Optional(Type.String({ format: 'date-time' })),
  to: Type.Optional(Type.String({ format: 'date-time' })),
};
export const ListSecurityEvents = Type.Object({ ...PageQuery, ...filters });
export const ExportSecurityEvents = Type.Object({
  ...filters,
  format: Type.Optional(OneOf(['json', 'csv'])),
});
export interface SecurityEventFilter {
  kind?: SecurityEventKind;
  user_id?: string;
  from?: string;
  to?: string;
}

const instance = { auth: BEARER, role: 'instance_admin', scope: { by: 'none' } } as const;
const company = { auth: BEARER, role: 'admin', scope: { by: 'company', param: 'companyId' } } as const;
const list = {
  method: 'GET',
  query: ListSecurityEvents,
  response: Type.Array(SecurityEvent),
  status: 200,
  tx: 'none',
  paged: true,
} as const;
const download = {
  method: 'GET',
  query: ExportSecurityEvents,
  response: null,
  status: 200,
  tx: 'none',
  streams: true,
} as const;

export const securityEndpoints = {
  list: endpoint({
    ...instance,
    ...list,
    id: 'security.list-events',
    path: '/api/instance/security-events',
    doc: 'The security log, newest first, 50 a page.',
  }),
  download: endpoint({
    ...instance,
    ...download,
    id: 'security.export-events',
    path: '/api/instance/security-events/export',
    doc: 'The security log as a file, newest first: JSON lines, or CSV with `format=csv`.',
  }),
  listOfCompany: endpoint({
    ...company,
    ...list,
    id: 'security.list-company-events',
    path: '/api/companies/{companyId}/security-events',
    doc: 'Security log entries about the company’s keys, newest first, 50 a page.',
  }),
  downloadOfCompany: endpoint({
    ...company,
    ...download,
    id: 'security.export-company-events',
    path: '/api/companies/{companyId}/security-events/export',
    doc: 'The same as a file: JSON lines, or CSV with `format=csv`.',
  }),
};
