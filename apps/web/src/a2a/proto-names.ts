import { isObject, type Params } from '../json-rpc/messages.ts';

/** Free-form fields: the names inside are the client's. */
const free = new Set(['metadata', 'data']);
/** Parameters nest four deep; anything deeper is not a name of the protocol. */
const MAX_DEPTH = 6;

/**
 * Normalises parameters of 1.0. Protobuf JSON parsers accept a field under its name in the definition, `context_id`, as
 * well as under its JSON name, `contextId`, and clients rely on that.
 */
export const inCamelCase = (params: Params): Params => named(params, 0) as Params;

function named(value: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((each) => named(each, depth + 1));
  if (!isObject(value)) return value;
  const fields = Object.entries(value).map(([name, each]): [string, unknown] => [
    camelCase(name),
    free.has(name) ? each : named(each, depth + 1),
  ]);
  return Object.fromEntries(fields);
}

const camelCase = (name: string): string =>
  name.replaceAll(/(?<=[a-z0-9])_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
