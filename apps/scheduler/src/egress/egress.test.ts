/** A company's host list, from the action on its page to what its agents' programs and models can reach. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findRun, invokeAgent, listRefusals, listRunEvents, runRefusals, setEgress } from '@acp/core';
import { transaction } from '@acp/db';
import { createGuardedFetch, loadConfig, NotListedError } from '@acp/kernel';
import * as kit from '@acp/testkit';
import { type RunningScheduler, startScheduler } from '../main.ts';
import { listedFetch } from './listed-fetch.ts';

const withBubblewrap = await kit.needsBubblewrap(describe);

let db: kit.TestDatabase;
let folder: string;
let scheduler: RunningScheduler;
let model: Awaited<ReturnType<typeof kit.startFakeModel>>;
let server: Server;
let port = 0;

/** Requests a listed host three times as the environment prescribes, and another host once. */
const ASKS = `
const said = [];
for (const url of ['http://localhost:PORT/a', 'http://localhost:PORT/b', 'http://elsewhere.example/'])
  said.push(await fetch(url).then(async (got) => got.ok ? await got.text() : 'refused', () => 'refused'));
(await import('node:fs')).writeFileSync(process.env.HOME + '/said', said.join());
`;

beforeAll(async () => {
  db = await kit.cloneDatabase('egress');
  void db.notifier;
  folder = await mkdtemp('/var/tmp/egress-test-');
  server = createServer((_asked, answer) => answer.end('reached'));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', () => done()));
  port = (server.address() as AddressInfo).port;
  model = await kit.startFakeModel();
  const script = path.join(folder, 'script.json');
  const asks = ASKS.replaceAll('PORT', String(port)).replaceAll('\n', ' ');
  const sh = `node --input-type=module -e "${asks}"`;
  await writeFile(script, JSON.stringify({ calls: [{ sh, texts: ['ok'] }] }));
  const command = kit.fakeCliCommand('a', script).map((word) => `"${word}"`);
  scheduler = await startScheduler({
    config: loadConfig({
      DATABASE_URL: db.url,
      SERVICE_HOME: path.join(folder, 'home'),
      SERVICE_CLI_A_COMMAND: command.join(' '),
      SERVICE_LOCAL_CLI_EGRESS: `localhost:${port}`,
      SERVICE_DEFAULT_LLM_PROVIDER: 'family_compat',
      SERVICE_DEFAULT_LLM_BASE_URL: `${model.url}/v1`,
      SERVICE_DEFAULT_LLM_MODEL: 'fake-model',
      SERVICE_DEFAULT_LLM_API_KEY: 'key-of-the-instance',
      SERVICE_DRAIN_TIMEOUT_SEC: '0',
    }),
    logger: kit.testLogger(),
  });
});

afterAll(async () => {
  await scheduler.stop();
  await model.close();
  server.close();
  await rm(folder, { recursive: true, force: true });
});

async function scene(hosts: string[] | null, adapter_type = 'cli_a_local') {
  const tx = db.database.db;
  const company = await kit.createCompany(tx);
  const board = kit.actors.board(company, 'admin');
  const let_out = async (list: string[] | null, version: number) =>
    transaction(db.database, async (t) => setEgress(t, board, company.id, { hosts: list, version }));
  if (hosts !== null) await let_out(hosts, 0);
  const agent = await kit.createAgent(tx, company, { adapter_type });
  const complete = async () => {
    const { id } = await transaction(db.database, async (t) => invokeAgent(t, board, agent));
    return kit.waitFor(
      async () => {
        const run = await findRun(tx, id);
        return run && ['succeeded', 'failed'].includes(run.status) ? run : false;
      },
      { what: 'the end of the run' },
    );
  };
  const said = async () =>
    readFile(path.join(folder, 'home/companies', company.id, 'agents', agent.id, 'said'), 'utf8');
  return { company, let_out, complete, said };
}

withBubblewrap('a program of a company', () => {
  it('without a list reaches what the operator names', async () => {
    const s = await scene(null);
    expect(await s.complete()).toMatchObject({ status: 'succeeded', error: null });
    expect(await s.said()).toBe('reached,reached,refused');
  });

  it('with a list reaches of that what is on it, and its run and its company tell what was refused', async () => {
    const s = await scene([`localhost:${port + 1}`]);
    const run = await s.complete();
    expect(run).toMatchObject({ status: 'succeeded', error: null });
    expect(await s.said()).toBe('refused,refused,refused');
    const refused = [
      { host: 'localhost', port, times: 2, door: 'program' },
      { host: 'elsewhere.example', port: 80, times: 1, door: 'program' },
    ];
    expect(await runRefusals(db.database.db, run.id)).toEqual(refused);
    const board = kit.actors.board(s.company, 'admin');
    const events = await listRunEvents(db.database.db, board, run.id, {});
    expect(events.find(({ payload }) => 'refused' in payload)).toMatchObject({
      kind: 'log',
      payload: { message: `not let out to localhost:${port} (2 times), elsewhere.example:80` },
    });
    expect(await listRefusals(db.database.db, s.company.id)).toMatchObject([
      { run_id: run.id },
      { run_id: run.id },
    ]);
    await s.let_out([`localhost:${port}`], 1);
    await s.complete();
    expect(await s.said()).toBe('reached,reached,refused');
  });
});

describe('a model call of a company', () => {
  it('goes where its list lets it, the instance’s own model too', async () => {
    const s = await scene([], 'llm');
    const before = model.requests.length;
    const run = await s.complete();
    const { host } = new URL(model.url);
    expect(run).toMatchObject({ status: 'failed', error_category: 'config' });
    expect(run.error).toContain(`request to ${host} refused: the company’s list of hosts does not have it`);
    expect(model.requests).toHaveLength(before);
    expect(await runRefusals(db.database.db, run.id)).toMatchObject([{ door: 'model', times: 1 }]);
    await s.let_out([host], 1);
    expect(await s.complete()).toMatchObject({ status: 'succeeded', error: null });
    expect(model.requests.length).toBeGreaterThan(before);
  });
});

describe('what goes out for a company', () => {
  it('is held to its own list and to no other company’s, anew with each request', async () => {
    const [strict, open] = [await scene([`127.0.0.1:${port}`]), await scene(null)];
    const guarded = createGuardedFetch({ egress: 'any' });
    const send = (company_id: string) => listedFetch(db.database, { company_id, door: 'plugin' }, guarded);
    const [here, other] = [`http://127.0.0.1:${port}/`, `http://localhost:${port}/`];
    expect((await send(open.company.id)(other)).status).toBe(200);
    expect((await send(strict.company.id)(here)).status).toBe(200);
    await expect(send(strict.company.id)(other)).rejects.toBeInstanceOf(NotListedError);
    await strict.let_out([], 1);
    await expect(send(strict.company.id)(here)).rejects.toBeInstanceOf(NotListedError);
    expect(await listRefusals(db.database.db, strict.company.id)).toMatchObject([
      { host: '127.0.0.1', doors: ['plugin'], run_id: null },
      { host: 'localhost', doors: ['plugin'], run_id: null },
    ]);
    expect(await listRefusals(db.database.db, open.company.id)).toEqual([]);
  });
});
