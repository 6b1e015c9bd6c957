/** A company's outbound allow-list (specification, Companies: set by people on a page, not through the API). */
import { Type, type Static } from 'typebox';
import { Nullable, OneOf } from './schema-kit.ts';

/** The kind of requester. `program`: a run's program, a repository's set-up or a check, inside its sandbox. */
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

/** A refused destination and how often it was requested. */
export const EgressRefusal = Type.Object({
  host: Type.String(),
  port: Type.Integer(),
  times: Type.Integer(),
  door: OneOf(egressDoors),
});
export type EgressRefusal = Static<typeof EgressRefusal>;

/** As a remote worker reports what its programs were refused, in a `log` of its task. */
export const ReportedRefusals = Type.Array(
  Type.Object({
    host: Type.String({ minLength: 1, maxLength: 253, pattern: '^[\\x21-\\x7e]+$' }),
    port: Type.Integer({ minimum: 0, maximum: 65_535 }),
    times: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
  }),
  { maxItems: 20 },
);
export type ReportedRefusals = Static<typeof ReportedRefusals>;

/** Replaces the list. Null: no list. */
export const SetEgress = Type.Object({
  hosts: Nullable(Type.Array(Type.String({ minLength: 1, maxLength: 300 }), { maxItems: MOST_EGRESS_HOSTS })),
  /** Version of the list being replaced. */
  version: Type.Integer({ minimum: 0 }),
});
export type SetEgress = Static<typeof SetEgress>;

/** Adds one host to the current list. */
export const AddEgressHost = Type.Object({ host: Type.String({ minLength: 1, maxLength: 300 }) });

export const CompanyEgress = Type.Object({
  /** Null: no list, so the instance's rules apply. Empty: nothing but the service itself. */
  hosts: Nullable(Type.Array(Type.String())),
  version: Type.Integer(),
});
export type CompanyEgress = Static<typeof CompanyEgress>;
