/** What a validator objects to, in terms of the request: `body.title must be string`. */
import type { ErrorObject } from 'ajv';

/** @param schema of the contract, whose unions may describe what they expect */
export function describeError(
  place: string,
  errors: readonly ErrorObject[] | null | undefined,
  schema?: object,
): string {
  const [error] = errors ?? [];
  if (!error) return `${place} is invalid`;
  const union = errors!.at(-1)!;
  if (union.keyword !== 'anyOf') return placed(place, error, problemOf(error));
  const meant = errors!.find((each) => each !== union && !isOfOtherType(each, union));
  if (meant) return placed(place, meant, problemOf(meant));
  const expected = descriptionOf(schema, union.schemaPath) ?? errors!.flatMap(typeOf).join(' or ');
  return placed(place, union, `must be ${expected}`);
}

const placed = (place: string, { instancePath }: ErrorObject, problem: string): string =>
  `${place}${instancePath.replaceAll('/', '.')} ${problem}`;

function problemOf({ keyword, params, message = 'is invalid' }: ErrorObject): string {
  const { allowedValues, additionalProperty } = params as {
    allowedValues: unknown[];
    additionalProperty: string;
  };
  if (keyword === 'enum') return `${message}: ${allowedValues.map(inWords).join(', ')}`;
  if (keyword === 'additionalProperties') return `${message}: ${additionalProperty.slice(0, 100)}`;
  return message;
}

/** Others' schemas allow values that no template could convert to text. */
const inWords = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Each alternative of a union has an error: these are of alternatives that the value was not meant as. */
const isOfOtherType = ({ keyword, instancePath }: ErrorObject, union: ErrorObject): boolean =>
  keyword === 'type' && instancePath === union.instancePath;

const typeOf = ({ params }: ErrorObject): unknown[] => [(params as { type?: unknown }).type ?? []].flat();

/** @param path of a keyword, as in `#/properties/shared_models/anyOf` */
function descriptionOf(schema: object | undefined, path: string): string | undefined {
  let part: unknown = schema;
  for (const name of path.split('/').slice(1, -1))
    part = (part as Record<string, unknown> | undefined)?.[decodeURIComponent(name)];
  return (part as { description?: string } | undefined)?.description;
}
