import { describe, expect, it } from '@jest/globals';
import type { TSchema } from 'typebox';
import { endpoints, takesIdempotencyKey } from './index.ts';

interface Shape extends TSchema {
  anyOf?: Shape[];
  properties?: Record<string, TSchema>;
}

/** The names of the fields at the top of a response, of all its forms. */
const fieldsOf = (schema: Shape | null): string[] =>
  schema === null
    ? []
    : [...Object.keys(schema.properties ?? {}), ...(schema.anyOf ?? []).flatMap((form) => fieldsOf(form))];

/** What a response shows only once has one of these names. */
const SECRETS = new Set(['api_key', 'raw_key', 'secret', 'token', 'code', 'recovery_codes', 'password']);

describe('the field of a response that is not kept for Idempotency-Key', () => {
  const rows = endpoints.filter(({ issues_secret }) => issues_secret !== undefined);

  it.each(rows.map((row) => [row.id, row] as const))('of %s is one of its fields', (_id, row) => {
    expect(fieldsOf(row.response)).toContain(row.issues_secret);
  });

  it('is named by every row that answers a secret', () => {
    const shown = endpoints
      .filter(takesIdempotencyKey)
      .map((row) => [row.id, fieldsOf(row.response).filter((name) => SECRETS.has(name)), row] as const)
      .filter(([, names]) => names.length > 0);
    expect(shown.length).toBeGreaterThan(5);
    expect(shown.map(([id, , { issues_secret }]) => [id, issues_secret])).toEqual(
      shown.map(([id, [name]]) => [id, name]),
    );
  });
});
