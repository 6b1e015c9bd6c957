/** What a company lets out (specification, Companies: set by people on a page, by no row of the API). */
import { Type, type Static } from 'typebox';
import { Nullable, OneOf } from './schema-kit.ts';

/** What asks to go out. `program`: of a run, a repository's set-up or a check, within its walls. */
export const egressDoors = [
  'program',
  'model',
  'function',
  'plugin',
  'mcp',
  'webhook',
  'peer',
  'repository',
] as const;
export type EgressDoor = (typeof egressDoors)[number];

export const MOST_EGRESS_HOSTS = 200;

/** A place and how often it was asked for in vain. */
export const EgressRefusal = Type.Object({
  host: Type.String(),
  port: Type.Integer(),
  times: Type.Integer(),
  door: OneOf(egressDoors),
});
export type EgressRefusal = Static<typeof EgressRefusal>;

/** Replaces the list. Null: there is none. */
export const SetEgress = Type.Object({
  hosts: Nullable(Type.Array(Type.String({ minLength: 1, maxLength: 300 }), { maxItems: MOST_EGRESS_HOSTS })),
  /** The one that is replaced. */
  version: Type.Integer({ minimum: 0 }),
});
export type SetEgress = Static<typeof SetEgress>;

/** Adds one host to the list, as it is by then. */
export const AddEgressHost = Type.Object({ host: Type.String({ minLength: 1, maxLength: 300 }) });

export const CompanyEgress = Type.Object({
  /** Null: no list, whatever the instance lets out. Empty: nothing but the service itself. */
  hosts: Nullable(Type.Array(Type.String())),
  version: Type.Integer(),
});
export type CompanyEgress = Static<typeof CompanyEgress>;
