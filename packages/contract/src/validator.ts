/** Ajv for the contract's schemas: one compiled function per schema, created on first use or at startup. */
import { invalid, isTimestamp, isUuid } from '@acp/kernel';
import { Ajv, type ValidateFunction } from 'ajv';
import formats from 'ajv-formats';
import type { Static, TSchema } from 'typebox';
import { describeError } from './describe-error.ts';

/** As browsers check it (HTML, `input type=email`): unlike the library's, without a dot in the domain too, as in `admin@localhost`. */
const EMAIL =
  /^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/;

/** The library's formats also take what PostgreSQL does not: `urn:uuid:…`, leap seconds, the year 0. */
const isInstant = (text: string): boolean => {
  const year = isTimestamp(text) ? new Date(text).getUTCFullYear() : 0;
  return year >= 1 && year <= 9999;
};

/** Ids in capitals name the same rows; beyond the validator they are compared as text. Ids in paths are read likewise. */
const ID_KEYWORD = 'inLowerCase';
function lowerCase(
  id: string,
  place?: { parentData: object | undefined; parentDataProperty: string | number },
): boolean {
  if (place?.parentData !== undefined && /[A-F]/.test(id))
    Object.assign(place.parentData, { [place.parentDataProperty]: id.toLowerCase() });
  return true;
}
const withIds = (schema: object): object =>
  JSON.parse(JSON.stringify(schema), (_, part: { format?: unknown } | null) =>
    part?.format === 'uuid' ? { ...part, [ID_KEYWORD]: true } : part,
  ) as object;

const options = { allErrors: false, strict: false, allowUnionTypes: true } as const;
const strictAjv = withFormats(new Ajv(options));
/** Query strings and form fields are text, so numbers and booleans are coerced. */
const coercingAjv = withFormats(new Ajv({ ...options, coerceTypes: true }));

function withFormats(ajv: Ajv): Ajv {
  // ajv-formats is CommonJS: under Node's ESM its function is the default export, typed one level deeper.
  (formats as unknown as (ajv: Ajv) => void)(ajv);
  ajv.addFormat('email', EMAIL).addFormat('uuid', isUuid).addFormat('date-time', isInstant);
  return ajv.addKeyword({
    keyword: ID_KEYWORD,
    type: 'string',
    schema: false,
    modifying: true,
    validate: lowerCase,
  });
}

export interface Validator<T> {
  /** Throws `invalid` (400) naming the location; returns the same value, typed, with its ids in lower case. */
  (value: unknown): T;
}

/** @param place first word of the message: `body`, `query`, `params`, `job payload`. */
export function createValidator<S extends TSchema>(
  schema: S,
  place: string,
  coerce = false,
): Validator<Static<S>> {
  let compiled: ValidateFunction | undefined;
  return (value) => {
    compiled ??= (coerce ? coercingAjv : strictAjv).compile(withIds(schema));
    if (!compiled(value)) throw invalid(describeError(place, compiled.errors, schema));
    return value as Static<S>;
  };
}
