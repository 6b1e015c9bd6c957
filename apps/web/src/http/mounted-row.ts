import { createValidator, pathParams, takesIdempotencyKey } from '@acp/contract';
import type { EndpointRow, Validator } from '@acp/contract';
import type { Route } from './handle.ts';
import { responseCheck } from './response-check.ts';

/** A row with everything that can be computed before the first request. */
export interface MountedRow {
  readonly row: EndpointRow;
  readonly handler: Route['handler'];
  readonly prepare: Route['prepare'];
  readonly params: readonly { readonly name: string; readonly isId: boolean }[];
  readonly scopeParam: string | undefined;
  /** Whether the path names a company in addition to the subject that the scope loads. */
  readonly inCompany: boolean;
  readonly query: Validator<unknown> | undefined;
  readonly body: Validator<unknown> | undefined;
  /** Validates the text fields of a multipart body, in which numbers and booleans are sent as text. */
  readonly fields: Validator<unknown> | undefined;
  /** Undefined if the body is a free map. */
  readonly bodyFields: ReadonlySet<string> | undefined;
  readonly checkResponse: ((text: string) => void) | undefined;
  readonly idempotent: boolean;
  /** Body fields that no digest may include: passwords, which can be guessed from one. */
  readonly writeOnly: ReadonlySet<string>;
  readonly tokenInQuery: boolean;
}

/** Throws at boot for a row that contradicts itself. */
export function prepareRow({ row, handler, prepare }: Route, validateResponses: boolean): MountedRow {
  const needsCompany = row.role !== 'none' && row.role !== 'instance_admin';
  if (needsCompany && row.scope.by === 'none') throw new Error(`${row.id}: a company role without a company`);
  if (row.auth.length === 0 && (row.role !== 'none' || row.scope.by !== 'none')) {
    throw new Error(`${row.id}: a public row has neither role nor scope`);
  }
  if (row.negotiated && row.method !== 'GET') throw new Error(`${row.id}: only a GET can be a page too`);
  if ((row.files !== undefined) !== (row.body_kind?.includes('multipart') ?? false)) {
    throw new Error(`${row.id}: files need a multipart body, and a multipart body needs files`);
  }
  const names = pathParams(row.path);
  return {
    row,
    handler,
    prepare,
    inCompany: 'param' in row.scope && row.scope.by !== 'company' && names.includes('companyId'),
    params: pathNames(row.path),
    scopeParam: 'param' in row.scope ? row.scope.param : undefined,
    query: row.query && createValidator(row.query, 'query', true),
    body: row.body && createValidator(row.body, 'body'),
    fields: row.files && row.body && createValidator(row.body, 'body', true),
    bodyFields:
      row.body && 'properties' in row.body ? new Set(Object.keys(propertiesOf(row.body))) : undefined,
    checkResponse: validateResponses && row.response !== null ? responseCheck(row) : undefined,
    idempotent: takesIdempotencyKey(row),
    writeOnly: writeOnlyFields(row),
    tokenInQuery: row.query !== undefined && 'Authorization' in propertiesOf(row.query),
  };
}

/** Parameters of a path; names that end in `id` are ids. */
export const pathNames = (path: string): MountedRow['params'] =>
  pathParams(path).map((name) => ({ name, isId: /id$/i.test(name) }));

function writeOnlyFields({ body }: EndpointRow): ReadonlySet<string> {
  const fields = Object.entries(body === undefined ? {} : propertiesOf(body));
  return new Set(fields.filter(([, schema]) => schema.writeOnly === true).map(([name]) => name));
}

function propertiesOf(schema: object): object {
  return 'properties' in schema && typeof schema.properties === 'object' ? (schema.properties ?? {}) : {};
}
