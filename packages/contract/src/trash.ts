/** The trash: entities removed by DELETE (decisions 7.6). */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { Nullable, OneOf, SearchQuery, Timestamp, Uuid } from './schema-kit.ts';

export const trashTypes = [
  'company',
  'agent',
  'issue',
  'project',
  'goal',
  'note',
  'skill',
  'routine',
] as const;
export type TrashType = (typeof trashTypes)[number];

export const TrashEntry = Type.Object({
  type: OneOf(trashTypes),
  entity_id: Uuid,
  trash_id: Uuid,
  company_id: Uuid,
  name: Type.String(),
  deleted_by_user_id: Nullable(Uuid),
  deleted_at: Timestamp,
});
export type TrashEntry = Static<typeof TrashEntry>;

const administration = { auth: BEARER, role: 'instance_admin', scope: { by: 'none' } } as const;
const entry = '/api/admin/trash/{type}/{entityId}/{trashId}';

export const trashEndpoints = {
  list: endpoint({
    ...administration,
    id: 'trash.list',
    method: 'GET',
    path: '/api/admin/trash',
    query: Type.Object({
      type: Type.Optional(OneOf(trashTypes)),
      company_id: Type.Optional(Uuid),
      ...SearchQuery,
    }),
    response: Type.Array(TrashEntry),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'Trashed entities, newest first; at most 1,000 or 4 MB unless `limit` is given.',
  }),
  restore: endpoint({
    ...administration,
    id: 'trash.restore',
    method: 'POST',
    path: `${entry}/restore`,
    response: Type.Object({ status: Type.Literal('restored') }),
    status: 200,
    tx: 'write',
    doc: 'Restores the entity, without its keys; 409 if its unique name is taken, or its parent is in the trash.',
  }),
  purge: endpoint({
    ...administration,
    id: 'trash.purge',
    method: 'DELETE',
    path: entry,
    response: null,
    status: 204,
    tx: 'write',
    doc: 'Permanently deletes the entity and everything below it.',
  }),
};
