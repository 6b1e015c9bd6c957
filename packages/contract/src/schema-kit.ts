/** Building blocks of all shapes: snake_case, UUIDv4 ids, RFC 3339 timestamps in UTC, missing optional fields as null. */
import { Type, type TSchema } from 'typebox';

export const Uuid = Type.String({ format: 'uuid' });

/** RFC 3339 in UTC. Presenters return the Date; JSON.stringify formats it. */
export const Timestamp = Type.Unsafe<Date | string>({ type: 'string', format: 'date-time' });

export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** A closed set of strings. */
export const OneOf = <const V extends readonly string[]>(values: V) =>
  Type.Unsafe<V[number]>({ type: 'string', enum: [...values] });

/** Arbitrary JSON, as in `adapter_config` and `metadata`. */
export const JsonObject = Type.Unsafe<Record<string, unknown>>({ type: 'object' });

/** Text entered by a person: not blank, no NUL (PostgreSQL can't store it). */
export const Name = Type.String({ minLength: 1, maxLength: 500, pattern: '^[^\\u0000]*\\S[^\\u0000]*$' });
/** As much as a JSON body may have: 1 MiB (specification, Limits). */
export const MAX_TEXT = 1_048_576;
export const Text = Type.String({ maxLength: MAX_TEXT, pattern: '^[^\\u0000]*$' });
export const NonBlankText = Type.String({
  minLength: 1,
  maxLength: MAX_TEXT,
  pattern: '^[^\\u0000]*\\S[^\\u0000]*$',
});

/** Query values arrive as strings, and the query validator coerces them. A limit above the maximum is clamped, not rejected. */
export const Limit = Type.Integer({ minimum: 1 });
/** The longest holds the path of an agent's file. */
const Cursor = Type.String({ minLength: 1, maxLength: 1000 });
export const PageQuery = {
  limit: Type.Optional(Limit),
  cursor: Type.Optional(Cursor),
};

/** Lists that are searched by name: `q` has words that an entry must contain, whatever their case and accents. */
export const SearchQuery = {
  ...PageQuery,
  q: Type.Optional(Type.String({ maxLength: 200, pattern: '^[^\\u0000]*$' })),
};

/** Who answers for a key: its creator, or whoever kept it when its creator left. Null: no one in person. */
export const AnsweredBy = Nullable(Uuid);

/** Whoever removes, deactivates or demotes someone may keep what that person created, and then answers for it. */
export const KeepKeys = Type.Optional(Type.Boolean());

/** Lifetime of a new key in days; absent: until revoked. */
export const KeyDays = Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 3650 })));

export const ErrorBody = Type.Object({ error: Type.String() });

export const JsonRpcErrorBody = Type.Object({
  jsonrpc: Type.Literal('2.0'),
  id: Type.Union([Type.String(), Type.Integer(), Type.Null()]),
  error: Type.Object({ code: Type.Integer(), message: Type.String(), data: Type.Optional(Type.Unknown()) }),
});

/** A body in which every field is optional; null clears an optional field (decisions 7.10). */
export const Patch = <P extends Record<string, TSchema>>(properties: P) =>
  Type.Partial(Type.Object(properties));
