/** The OpenAPI document, checked by third-party programs: a linter, and a proxy that validates responses against it. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as contract from '@acp/contract';
import { type EndpointRow, endpoints, openApiDocument } from '@acp/contract';
import * as fc from 'fast-check';
import { validOf } from '../http/arbitraries.ts';
import { type Cast, createCast } from '../http/cast.ts';
import { startPages } from '../http/pages.ts';
import { createStage, pathOn, type Stage } from '../http/stage.ts';

const bin = (name: string) => path.resolve(import.meta.dirname, '../../node_modules/.bin', name);
const folder = mkdtempSync(path.join(tmpdir(), 'acp-openapi-'));
const written = openApiDocument(endpoints, '0.0.0', contract) as { paths: Record<string, unknown> };
const document = path.join(folder, 'openapi.json');
writeFileSync(document, JSON.stringify(written));

/** A fixed path takes precedence over one with parameters: this one is described wrongly, to prove that the proxy checks. */
const MISDESCRIBED = '/api/roles/cto/default-prompt';
const answer = { type: 'object', required: ['nothing of the kind'] };
const wrongly = {
  get: { responses: { 200: { description: 'x', content: { 'application/json': { schema: answer } } } } },
};
const watched = path.join(folder, 'watched.json');
writeFileSync(watched, JSON.stringify({ ...written, paths: { ...written.paths, [MISDESCRIBED]: wrongly } }));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const environment = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };

describe('the OpenAPI document', () => {
  it('has nothing that a linter finds fault with', async () => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [bin('redocly'), 'lint', document, '--extends=recommended', '--format=json'],
      { env: environment, cwd: folder },
    ).catch((error: { stdout: string }) => error);
    const { problems } = JSON.parse(stdout) as { problems: { ruleId: string; message: string }[] };
    expect(problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([]);
  });
});

const printable = /^[\x20-\x7E]*$/;

/** The proxy's findings about an exchange (its header `sl-violations`), for the response only: requests are random. */
interface Violation {
  location: string[];
  severity: string;
  message: string;
}

describe('the service behind a validating proxy', () => {
  let service: Server;
  let proxy: ChildProcess;
  let url = '';
  let cast: Cast;
  let stage: Stage;

  beforeAll(async () => {
    const { app, database } = await startPages({ SERVICE_ENCRYPTION_KEY: '7'.repeat(64) });
    cast = await createCast(database);
    stage = await createStage(database, cast);
    service = createServer(app).listen(0, '127.0.0.1');
    await once(service, 'listening');
    const upstream = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
    proxy = spawn(
      process.execPath,
      [bin('prism'), 'proxy', watched, upstream, '--port', '0', '--host', '127.0.0.1'],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    for await (const line of createInterface(proxy.stdout!)) {
      const listening = /listening on (http:\/\/\S+)/.exec(line);
      if (listening) {
        url = listening[1]!;
        break;
      }
    }
    proxy.stdout!.resume();
  });

  afterAll(async () => {
    proxy.kill();
    service.closeAllConnections();
    service.close();
  });

  function callerOf({ auth }: EndpointRow) {
    if (auth.includes('user')) return cast.instance_admin;
    return auth.includes('worker') ? cast.worker : cast.agent;
  }

  async function send(
    row: EndpointRow,
    at: Stage,
    body?: unknown,
  ): Promise<{ status: number; wrong: string[] }> {
    const response = await fetch(url + pathOn(at, row), {
      method: row.method,
      redirect: 'manual',
      headers: {
        ...callerOf(row).headers,
        'sec-fetch-site': 'same-origin',
        accept: 'application/json, */*;q=0.1',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    await response.arrayBuffer();
    const violations = JSON.parse(response.headers.get('sl-violations') ?? '[]') as Violation[];
    return {
      status: response.status,
      wrong: violations
        .filter(({ location, severity }) => location[0] === 'response' && severity === 'Error')
        .map(({ location, message }) => `${location.join('.')}: ${message}`),
    };
  }

  // A stream never ends, and the shape of form data or raw bodies is not described.
  const plain = endpoints.filter((row) => row.id !== 'live.events' && row.body_kind === undefined);

  it.each(plain.filter(({ method }) => method === 'GET').map((row) => [row.id, row] as const))(
    '%s answers as the document says',
    async (_id, row) => {
      const { status, wrong } = await send(row, stage);
      expect({ status, wrong, fine: status < 300 || status === 404 }).toEqual({
        status,
        wrong: [],
        fine: true,
      });
    },
  );

  const mutations = plain.filter(({ method }) => method !== 'GET' && method !== 'DELETE');

  it.each(mutations.map((row) => [row.id, row] as const))(
    '%s answers as the document says, accepted or refused',
    async (_id, row) => {
      const ids = Object.values(stage).filter((value) => value.length === 36);
      const bodies = row.body
        ? fc.sample(validOf({ type: 'object', ...row.body }, ids), { numRuns: 20, seed: 7 })
        : [undefined];
      // The proxy repeats its findings about a request in a header, and crashes if they don't fit into one.
      for (const body of bodies.filter((each) => printable.test(JSON.stringify(each) ?? '')).slice(0, 4)) {
        const { status, wrong } = await send(row, stage, body);
        expect({ body, status, wrong, fine: status < 500 || status === 503 }).toEqual({
          body,
          status,
          wrong: [],
          fine: true,
        });
      }
    },
  );

  it('finds fault with an answer that is not as the document says', async () => {
    const response = await fetch(url + MISDESCRIBED);
    expect(response.status).toBe(200);
    expect(response.headers.get('sl-violations')).toContain('nothing of the kind');
  });
});
