/** Reads ids, query and body as the row declares them. Anything invalid is 400; an id that can't exist is 404. */
import { invalid, isUuid, notFound } from '@acp/kernel';
import type { Request, Response } from 'express';
import { checkText, readJsonBody } from './json-body.ts';
import { readRawBody } from './raw-body.ts';
import type { MountedRow } from './mounted-row.ts';

export type Params = Record<string, string>;
export type Query = Record<string, unknown>;

/** Shared by all requests without one. */
export const NO_QUERY: Query = Object.freeze({});

/** What follows the first question mark of a URL; others are part of the query (RFC 3986, 3.4). */
export function queryOf(url: string): string {
  const mark = url.indexOf('?');
  return mark === -1 ? '' : url.slice(mark + 1);
}

/** Normalises ids; an invalid id refers to nothing (decisions 7.11). */
export function readParams({ params }: Pick<MountedRow, 'params'>, values: readonly string[]): Params {
  const read: Params = {};
  for (const [index, { name, isId }] of params.entries()) {
    const raw = values[index] ?? '';
    const value = raw.includes('%') ? decodeURIComponent(raw) : raw;
    if (isId ? !isUuid(value) : value.includes('\0')) throw notFound();
    read[name] = isId ? value.toLowerCase() : value;
  }
  return read;
}

export function readQuery({ query: validate }: MountedRow, query: Query): unknown {
  if (validate === undefined) return NO_QUERY;
  for (const [name, value] of Object.entries(query)) {
    // Forms and URL builders send what was left empty: `?status=&cursor=` filters by nothing.
    if (value === '') delete query[name];
    else if (typeof value === 'string') checkText(value);
  }
  // The frozen empty query is shared, and a validator may fill in defaults.
  const read = validate(query === NO_QUERY ? {} : query);
  for (const value of Object.values(query)) {
    // `1e999` and the like are coerced to numbers that fit no integer column.
    if (typeof value === 'number' && !Number.isSafeInteger(value))
      throw invalid('number out of range in query');
  }
  return read;
}

export async function readBody(mounted: MountedRow, request: Request, response: Response): Promise<unknown> {
  if (mounted.row.body_kind === 'multipart') throw invalid('the body must be multipart/form-data');
  if (mounted.row.body_kind === 'raw') return readRawBody(request, response, mounted.row.max_bytes);
  if (mounted.body === undefined) return undefined;
  return bodyOf(mounted, await readJsonBody(request, response));
}

/** @param sent JSON checked by `checkJson`; undefined if there is no body */
export function bodyOf(mounted: MountedRow, sent: unknown): unknown {
  if (mounted.body === undefined) return undefined;
  const body = nullIsAbsent(mounted) ? withoutNulls(sent, mounted.bodyFields ?? []) : sent;
  if (body !== undefined) return known(mounted.body(body), mounted.bodyFields);
  if (!mounted.row.body_optional) throw invalid('a JSON body is required');
  return undefined;
}

/** On creation, a null field counts as left out (decisions 10.5); in free maps and JSON-RPC null means null. */
const nullIsAbsent = ({ row, bodyFields }: MountedRow): boolean =>
  row.method === 'POST' && bodyFields !== undefined && row.errors !== 'json_rpc';

/** As for fields, so for the whole: clients with nothing to say may send `null`. */
function withoutNulls(body: unknown, fields: Iterable<string>): unknown {
  if (body === null) return undefined;
  if (typeof body !== 'object' || Array.isArray(body)) return body;
  const sent = body as Record<string, unknown>;
  for (const name of fields) if (sent[name] === null) delete sent[name];
  return sent;
}

/** The text fields of a multipart body. */
export function readFields({ fields: validate, bodyFields }: MountedRow, fields: object): unknown {
  return validate === undefined ? undefined : known(validate(fields), bodyFields);
}

/** Drops fields that the row does not name, so that no column can be set inadvertently (decisions 7.10). */
export function known(body: unknown, fields: ReadonlySet<string> | undefined): unknown {
  if (fields === undefined || typeof body !== 'object' || body === null) return body;
  const sent = body as Record<string, unknown>;
  const named: Record<string, unknown> = {};
  // By the row's fields, which are few: a body may have tens of thousands of others.
  for (const name of fields) if (Object.hasOwn(sent, name)) named[name] = sent[name];
  return named;
}
