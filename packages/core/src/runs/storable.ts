/** Text of models and tools as PostgreSQL can hold it: no NUL, no half surrogate pairs. */
export function storableText(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}

/** JSON of a value for a jsonb parameter, all its texts made storable. */
export function storableJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'string' ? storableText(inner) : inner,
  );
}
