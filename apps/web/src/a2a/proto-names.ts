import { isObject, type Params } from '../json-rpc/messages.ts';

/** What clients fill in as they like: its names are theirs. */
const free = new Set(['metadata', 'data']);
/** Parameters nest four deep; what is deeper is no name of the protocol's. */
const MAX_DEPTH = 6;

/**
 * Parameters of 1.0 as they are told. Parsers of the JSON of protocol buffers take a field by the name in the definition,
 * `context_id`, as well as by its own in JSON, `contextId`, and clients rely on that.
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
