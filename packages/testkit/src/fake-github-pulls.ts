import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { createValidator } from '@acp/contract';
import { Type } from 'typebox';

interface FakePull {
  number: number;
  title: string;
  body: string;
  head: string;
  base: string;
  draft: boolean;
  state: 'open' | 'closed';
  merged_at: string | null;
}

/** The part of GitHub's API that deals with pull requests; requests and responses are checked against its public description. */
export interface FakeGithubPulls {
  url: string;
  pulls: FakePull[];
  /** Written by someone with rights in the repository unless specified. */
  reviews: { state: string; user: { login: string }; author_association?: string }[];
  checks: { status: string; conclusion: string | null; name: string }[];
  /** Violations of the description, by the client or by the stand-in itself. */
  complaints: string[];
  /** Authorization headers as received. */
  asked: string[];
  close(): Promise<void>;
}

type Operation = {
  operationId: string;
  parameters: { name: string; in: string; required?: boolean; schema?: object }[];
  requestBody?: { required: boolean; schema: object };
  responses: Record<string, object | null>;
};
/** Excerpt of `@octokit/openapi` (MIT) 23.0.2: the operations called, and the parts of their responses that are read. */
const description = JSON.parse(readFileSync(join(import.meta.dirname, 'github-api.json'), 'utf8')) as {
  paths: Record<string, Record<string, Operation>>;
};
const { paths } = description;

/** @param headOf returns the commit of a branch; @param merge merges it into another */
export async function startFakeGithubPulls(
  headOf: (branch: string) => Promise<string>,
  merge: (base: string, head: string) => Promise<void>,
): Promise<FakeGithubPulls> {
  const fake: Omit<FakeGithubPulls, 'url' | 'close'> = {
    pulls: [],
    reviews: [],
    checks: [],
    complaints: [],
    asked: [],
  };
  const shown = async (pull: FakePull) => ({
    number: pull.number,
    html_url: `https://github.example/shop/pull/${pull.number}`,
    state: pull.state,
    title: pull.title,
    body: pull.body,
    draft: pull.draft,
    merged: pull.merged_at !== null,
    merged_at: pull.merged_at,
    head: { ref: pull.head, sha: await headOf(pull.head) },
    base: { ref: pull.base, sha: await headOf(pull.base) },
  });
  const handlers: Record<string, (call: Call) => Promise<[status: number, body: unknown]>> = {
    'pulls/list': async ({ query }) => {
      const branch = query.get('head')?.split(':')[1];
      const found = fake.pulls.filter(
        ({ head, state }) => head === branch && state === (query.get('state') ?? 'open'),
      );
      return [200, await Promise.all(found.map(shown))];
    },
    'pulls/create': async ({ body }) => {
      const { title = '', head = '', base = '', draft = false, body: text = '' } = body as Partial<FakePull>;
      const pull = { number: fake.pulls.length + 7, title, head, base, draft, body: text } as const;
      fake.pulls.push({ ...pull, state: 'open', merged_at: null });
      return [201, await shown(fake.pulls.at(-1)!)];
    },
    'pulls/get': async ({ pull }) => [200, await shown(pull!)],
    'pulls/list-reviews': async ({ query }) => {
      const reviews = fake.reviews.map((review, id) => ({
        id,
        author_association: 'COLLABORATOR',
        ...review,
      }));
      return [200, pageOf(reviews, query)];
    },
    'checks/list-for-ref': async ({ query }) => {
      const check_runs = fake.checks.map((run, id) => ({ id, ...run }));
      return [200, { total_count: check_runs.length, check_runs: pageOf(check_runs, query) }];
    },
    'pulls/merge': async ({ pull, body }) => {
      const head = await headOf(pull!.head);
      if ((body as { sha?: string }).sha !== head) return [409, { message: 'Head branch was modified.' }];
      await merge(pull!.base, pull!.head);
      Object.assign(pull!, { state: 'closed', merged_at: new Date().toISOString() });
      return [200, { merged: true, sha: head, message: 'Pull Request successfully merged' }];
    },
  };
  const server = createServer((request, response) => {
    void answer(fake, handlers, request, response).catch((err: unknown) => {
      fake.complaints.push(String(err));
      response.writeHead(500).end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(fake, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((done) => server.close(() => done()));
    },
  });
}

function pageOf<T>(items: readonly T[], query: URLSearchParams): T[] {
  const size = Math.min(Number(query.get('per_page') ?? 30), 100);
  const page = Number(query.get('page') ?? 1);
  return items.slice((page - 1) * size, page * size);
}

interface Call {
  query: URLSearchParams;
  body: unknown;
  pull: FakePull | undefined;
}

async function answer(
  fake: Omit<FakeGithubPulls, 'url' | 'close'>,
  handlers: Record<string, (call: Call) => Promise<[number, unknown]>>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const found = operationOf(request.method ?? 'GET', url.pathname);
  fake.asked.push(request.headers.authorization ?? '');
  if (found === undefined) {
    fake.complaints.push(`${request.method} ${url.pathname} is not in the description`);
    response.writeHead(404).end('{}');
    return;
  }
  const { operation, params } = found;
  const body = operation.requestBody === undefined ? undefined : await json(request);
  fake.complaints.push(...wrongIn(operation, url, body));
  const pull = fake.pulls.find(({ number }) => number === Number(params.pull_number));
  if (params.pull_number !== undefined && pull === undefined) {
    response.writeHead(404).end('{"message":"Not Found"}');
    return;
  }
  const [status, result] = await handlers[operation.operationId]!({ query: url.searchParams, body, pull });
  if (!(String(status) in operation.responses))
    fake.complaints.push(`${operation.operationId} never answers ${status}`);
  const schema = operation.responses[String(status)];
  if (schema) check(fake.complaints, schema, result, `the answer of ${operation.operationId}`);
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(result));
}

function operationOf(
  method: string,
  path: string,
): { operation: Operation; params: Record<string, string> } | undefined {
  for (const [template, methods] of Object.entries(paths)) {
    const pattern = new RegExp(`^${template.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`);
    const match = pattern.exec(path);
    const operation = methods[method.toLowerCase()];
    if (match !== null && operation !== undefined) return { operation, params: { ...match.groups } };
  }
  return undefined;
}

function wrongIn({ operationId, parameters, requestBody }: Operation, url: URL, body: unknown): string[] {
  const complaints: string[] = [];
  const known = parameters.filter((each) => each.in === 'query').map(({ name }) => name);
  for (const name of url.searchParams.keys())
    if (!known.includes(name)) complaints.push(`${operationId} has no parameter ${name}`);
  if (requestBody === undefined) return complaints;
  check(complaints, requestBody.schema, body, `the request of ${operationId}`);
  const properties = Reflect.get(requestBody.schema, 'properties') as object;
  for (const name of Object.keys(body as object))
    if (!(name in properties)) complaints.push(`${operationId} takes no ${name}`);
  return complaints;
}

function check(complaints: string[], schema: object, value: unknown, what: string): void {
  try {
    createValidator(Type.Unsafe({ ...nullable(schema) }), what)(structuredClone(value));
  } catch (err) {
    complaints.push(`${what}: ${String(err)}`);
  }
}

/** Converts the description's `nullable` into JSON Schema. */
function nullable(schema: object): object {
  if (Array.isArray(schema))
    return schema.map((each) => (typeof each === 'object' ? nullable(each as object) : each));
  const {
    nullable: mayBeNull,
    format: _format,
    ...rest
  } = schema as { nullable?: boolean; format?: unknown };
  const walked = Object.fromEntries(
    Object.entries(rest).map(([key, value]) => [
      key,
      typeof value === 'object' && value !== null && key !== 'enum' ? nullable(value) : value,
    ]),
  );
  return mayBeNull === true ? { anyOf: [walked, { type: 'null' }] } : walked;
}
