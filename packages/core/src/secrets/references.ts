/** `${secret:NAME}` in JSON that a tenant wrote. Pure. */
import { SECRET_NAME } from '@acp/contract';

const reference = new RegExp(`\\$\\{secret:(${SECRET_NAME})\\}`, 'g');

/** Names in all string values; keys are not resolved. */
export function secretNames(value: unknown): Set<string> {
  const names = new Set<string>();
  mapStrings(value, (text) => {
    for (const [, name] of text.matchAll(reference)) names.add(name!);
    return text;
  });
  return names;
}

/** Replaces all references. A value that itself looks like a reference is left as it is. */
export function replaceSecrets<T>(value: T, values: ReadonlyMap<string, string>): T {
  return mapStrings(value, (text) =>
    text.replaceAll(reference, (whole, name: string) => values.get(name) ?? whole),
  ) as T;
}

function mapStrings(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value);
  if (Array.isArray(value)) return value.map((each) => mapStrings(each, map));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, mapStrings(each, map)]));
}
