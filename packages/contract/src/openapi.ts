/** Generates OpenAPI 3.1 from the endpoint table, so the document can't disagree with the routes. */
import { type AuthKind, type EndpointRow, type FileRule, pathParams } from './endpoint.ts';
import { Components } from './components.ts';
import { exampleAnswer, exampleBody } from './examples.ts';
import { ErrorBody, JsonRpcErrorBody } from './schema-kit.ts';
import { tagDescriptions } from './openapi-tags.ts';

type Json = Record<string, unknown>;

const SESSION = 'session';
const BEARER_KEY = 'bearer';

const bodiless: Readonly<Record<number, Json>> = {
  204: { description: 'Done.' },
  304: { description: 'What the client has is as it was.' },
};

const securitySchemes = {
  [SESSION]: {
    type: 'apiKey',
    in: 'cookie',
    name: 'service_session',
    description: 'Session of a signed-in user, set by POST /login.',
  },
  [BEARER_KEY]: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'sk_ and 64 hex characters',
    description: 'Agent or board-user API key.',
  },
} as const;

const errorTexts: Record<number, string> = {
  400: 'Malformed request or failed validation.',
  401: 'Missing or invalid credentials.',
  403: 'Authenticated, but not allowed.',
  404: 'Absent, or another company’s.',
  409: 'Conflict with the state of things, or with an earlier use of the Idempotency-Key.',
  413: 'Body over 1 MiB, or files too large or too many.',
  415: 'A file of a type that is not taken.',
  416: 'The range lies outside of the file.',
  429: 'Rate limited; see Retry-After.',
  503: 'A dependency is unavailable.',
};

/** @param shapes everything the contract exports; shapes used by endpoints become named components */
export function openApiDocument(rows: readonly EndpointRow[], version: string, shapes: object): Json {
  const components = new Components(shapes);
  const paths: Record<string, Json> = {};
  for (const row of rows) {
    // OpenAPI can't express the rest of a path: clients generated from this document percent-encode its slashes.
    const path = (paths[row.path.replace('*}', '}')] ??= {});
    path[row.method.toLowerCase()] = operation(row, components);
  }
  const error = jsonContent(components.refer(ErrorBody));
  return {
    openapi: '3.1.0',
    info: {
      title: 'Agent control plane',
      version,
      description:
        'Identifiers are UUIDs, instants RFC 3339 in UTC. Optional fields are null in answers, never absent. ' +
        'Every error is `{"error": "<message>"}`.',
      license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
    },
    servers: [{ url: '/', description: 'The instance that serves this document.' }],
    tags: [...new Set(rows.map(tagOf))].map((name) => ({ name, description: tagDescriptions[name] })),
    paths,
    components: {
      schemas: components.schemas,
      responses: Object.fromEntries(
        Object.entries(errorTexts).map(([status, description]) => [
          `Error${status}`,
          { description, content: error },
        ]),
      ),
      securitySchemes,
    },
  };
}

function operation(row: EndpointRow, components: Components): Json {
  return {
    operationId: row.id,
    tags: [tagOf(row)],
    summary: row.doc,
    description: `Least role: ${row.role}.`,
    security: securityOf(row.auth),
    parameters: parametersOf(row, components),
    ...((row.body || row.files || row.body_kind === 'raw') && {
      requestBody: { required: row.body_optional !== true, content: bodyContent(row, components) },
    }),
    responses: {
      ...Object.fromEntries(
        [row.status, ...(row.also ?? [])].map((status) => [
          status,
          bodiless[status] ?? successOf(row, components),
        ]),
      ),
      ...Object.fromEntries(errorStatuses(row).map((status) => [status, errorOf(row, status, components)])),
    },
  };
}

/** JSON-RPC endpoints also return JSON-RPC errors; requests refused before reaching the endpoint get the usual ones. */
function errorOf({ errors }: EndpointRow, status: number, components: Components): Json {
  if (errors !== 'json_rpc') return { $ref: `#/components/responses/Error${status}` };
  const anyOf = [ErrorBody, JsonRpcErrorBody].map((schema) => components.refer(schema));
  return { description: errorTexts[status], content: jsonContent({ anyOf }) };
}

function tagOf(row: EndpointRow): string {
  return row.id.slice(0, row.id.indexOf('.'));
}

function securityOf(auth: readonly AuthKind[]): Json[] {
  const schemes = new Set(auth.map((kind) => (kind === 'user' ? SESSION : BEARER_KEY)));
  return [...schemes].map((scheme) => ({ [scheme]: [] }));
}

function parametersOf(row: EndpointRow, components: Components): Json[] {
  const inPath = pathParams(row.path).map((name) => ({
    name,
    in: 'path',
    required: true,
    schema: /id$/i.test(name) ? { type: 'string', format: 'uuid' } : { type: 'string' },
  }));
  const query = components.inline(row.query ?? { type: 'object' });
  const required = Array.isArray(query.required) ? query.required : [];
  const inQuery = Object.entries((query.properties ?? {}) as Json).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }));
  return [...inPath, ...inQuery, ...headersOf(row)];
}

function headersOf(row: EndpointRow): Json[] {
  const header = (name: string, description: string, maxLength: number) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string', maxLength },
  });
  const once = [
    'The request sent again with the same value takes effect once; for 24 hours it gets the first answer.',
    ...(row.files ? ['For a JSON body only: with `multipart/form-data` it is ignored.'] : []),
    ...(row.issues_secret === undefined
      ? []
      : ['If the first answer showed a secret, which is not kept, the repeat is 409 `already issued`.']),
  ];
  return [
    ...(takesIdempotencyKey(row) ? [header('Idempotency-Key', once.join(' '), 255)] : []),
    ...(row.streams === 'events'
      ? [header('Last-Event-ID', 'The last `id:` of an interrupted stream, which is resumed after it.', 200)]
      : []),
  ];
}

/** Whether the endpoint accepts an `Idempotency-Key`: authenticated POSTs in one transaction (decisions 8.5). */
export function takesIdempotencyKey(row: EndpointRow): boolean {
  return (
    row.method === 'POST' &&
    row.tx === 'write' &&
    row.auth.length > 0 &&
    !row.streams &&
    row.body_kind !== 'multipart'
  );
}

function bodyContent(row: EndpointRow, components: Components): Json {
  if (row.body_kind === 'raw') return { '*/*': { schema: { type: 'string', format: 'binary' } } };
  const json =
    row.body && row.body_kind !== 'multipart' && jsonContent(components.refer(row.body), exampleBody(row));
  return {
    ...json,
    ...(row.files && { 'multipart/form-data': { schema: formOf(row, row.files, components) } }),
  };
}

/** The text fields besides the files; with files of any name, those are additional properties. */
function formOf(row: EndpointRow, { field, limit, required }: FileRule, components: Components): Json {
  const fields: Json = row.body ? components.inline(row.body) : {};
  const file = { type: 'string', contentMediaType: 'application/octet-stream' };
  const demanded = Array.isArray(fields.required) ? fields.required : [];
  const several = { anyOf: [file, { type: 'array', items: file }] };
  return {
    type: 'object',
    properties: {
      ...(fields.properties as Json | undefined),
      ...(field !== '*' && { [field]: limit === 'attachments' ? several : file }),
    },
    required: [...demanded, ...(required && field !== '*' ? [field] : [])],
    ...(field === '*' && { additionalProperties: file }),
  };
}

function successOf(row: EndpointRow, components: Components): Json {
  const headers = row.paged && {
    'X-Next-Cursor': { description: 'Where a next page exists.', schema: { type: 'string' } },
    Link: { description: 'The next page, `rel="next"`.', schema: { type: 'string' } },
  };
  return {
    description: row.response === null && row.streams !== 'events' ? 'Done.' : 'The answer.',
    ...(headers && { headers }),
    ...(row.response && { content: jsonContent(components.refer(row.response), exampleAnswer(row)) }),
    ...(row.streams === 'bytes' && { content: { '*/*': { schema: { type: 'string', format: 'binary' } } } }),
    ...(row.streams === 'events' && { content: { 'text/event-stream': { schema: { type: 'string' } } } }),
  };
}

function errorStatuses(row: EndpointRow): number[] {
  const raw = row.body_kind === 'raw';
  const hasInput = row.body !== undefined || row.files !== undefined || row.query !== undefined;
  return [
    ...(hasInput ? [400] : []),
    // For raw bodies the signature is the credential.
    ...(row.auth.length > 0 || raw ? [401] : []),
    ...(row.auth.length > 0 && row.role !== 'viewer' ? [403] : []),
    ...(row.path.includes('{') ? [404] : []),
    ...(row.tx === 'write' || raw ? [409] : []),
    ...(row.body || row.files || raw ? [413] : []),
    ...(row.files || raw ? [415] : []),
    ...(row.streams === 'bytes' && row.also?.includes(206) ? [416] : []),
    429,
    503,
  ];
}

function jsonContent(schema: unknown, example?: unknown): Json {
  return { 'application/json': { schema, ...(example !== undefined && { example }) } };
}
