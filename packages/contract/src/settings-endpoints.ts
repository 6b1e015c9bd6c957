/** Endpoints for instance settings and operational flags (specification, Instance administration; decisions 7.7). */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { Nullable, OneOf, Timestamp } from './schema-kit.ts';
import { flagNames, InstanceSettings, UpdateInstanceSettings } from './settings.ts';

export const Flag = Type.Object({
  name: OneOf(flagNames),
  description: Type.String(),
  default: Type.Boolean(),
  /** Null when not overridden. */
  value: Nullable(Type.Boolean()),
  effective_value: Type.Boolean(),
  updated_at: Nullable(Timestamp),
});
export type Flag = Static<typeof Flag>;

export const PutFlag = Type.Object({
  /** Scripts send text; an empty one is rejected in favour of DELETE. */
  value: Type.Union([Type.Boolean(), Type.String({ maxLength: 20 })]),
  description: Type.Optional(Nullable(Type.String({ maxLength: 2000, pattern: '^[^\\u0000]*$' }))),
});
export type PutFlag = Static<typeof PutFlag>;

const administration = { auth: BEARER, role: 'instance_admin', scope: { by: 'none' }, status: 200 } as const;
const oneFlag = { ...administration, path: '/api/admin/flags/{name}', response: Flag } as const;

export const settingsEndpoints = {
  get: endpoint({
    id: 'settings.get',
    method: 'GET',
    path: '/api/instance-settings',
    auth: BEARER,
    role: 'none',
    scope: { by: 'none' },
    response: InstanceSettings,
    status: 200,
    tx: 'none',
    doc: 'The instance’s settings; null means the environment’s default.',
  }),
  update: endpoint({
    ...administration,
    id: 'settings.update',
    method: 'PATCH',
    path: '/api/instance-settings',
    body: UpdateInstanceSettings,
    response: InstanceSettings,
    tx: 'write',
    example: { instance_name: 'Harbour', trash_retention_days: 30 },
    doc: 'Sets settings; null restores the environment’s default, an unknown key is 400.',
  }),
  listFlags: endpoint({
    ...administration,
    id: 'settings.list-flags',
    method: 'GET',
    path: '/api/admin/flags',
    response: Type.Array(Flag),
    tx: 'none',
    doc: 'Operational flags with their effective values.',
  }),
  getFlag: endpoint({
    ...oneFlag,
    id: 'settings.get-flag',
    method: 'GET',
    tx: 'none',
    doc: 'The flag.',
  }),
  putFlag: endpoint({
    ...oneFlag,
    id: 'settings.put-flag',
    method: 'PUT',
    body: PutFlag,
    tx: 'write',
    example: { value: true, description: 'Rolled out to everybody.' },
    doc: 'Overrides the flag.',
  }),
  deleteFlag: endpoint({
    ...oneFlag,
    id: 'settings.delete-flag',
    method: 'DELETE',
    tx: 'write',
    doc: 'Restores the flag’s default.',
  }),
};
