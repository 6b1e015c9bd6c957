import { storableText } from '@acp/kernel';

/** JSON of a value for a jsonb parameter, with all its strings made storable. */
export function storableJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'string' ? storableText(inner) : inner,
  );
}
