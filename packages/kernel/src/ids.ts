import { randomUUID } from 'node:crypto';

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** A fresh UUIDv4, lower case. */
export function newId(): string {
  return randomUUID();
}

/**
 * Whether the text is a UUID of any version in canonical form. PostgreSQL also accepts braces and odd hyphens; those are
 * rejected here, so that each row has exactly one spelling.
 */
export function isUuid(text: unknown): text is string {
  return typeof text === 'string' && uuidPattern.test(text);
}
