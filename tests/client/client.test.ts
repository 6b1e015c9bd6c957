/** The typed client as its users get it: packed, installed elsewhere, compiled against and run; and the example scripts. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createAgent, createApproval, createCompany, mintBoardUserKey, systemActor } from '@acp/core';
import { schema, transaction } from '@acp/db';
import { repositoryRoot } from '@acp/kernel';
import {
  cloneDatabase,
  type FakeModel,
  type ServiceProcess,
  startFakeModel,
  startService,
  type TestDatabase,
  waitFor,
} from '@acp/testkit';
import { createClient } from '@acp/client';
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buildClient, PACKAGE_NAME } from '../../scripts/client/build-client.ts';

const scripts = path.join(repositoryRoot, 'examples/scripts');
const director = systemActor('tests');
const folder = mkdtempSync(path.join(tmpdir(), 'acp-client-'));

let test: TestDatabase;
let model: FakeModel;
let service: ServiceProcess;
let company_id: string;
let key: string;

beforeAll(async () => {
  test = await cloneDatabase('client');
  model = await startFakeModel({ script: () => 'I counted 4,120 books.\n/status done' });
  ({ company_id, key } = await transaction(test.database, async (tx) => {
    const { id } = await createCompany(tx, director, { name: 'Harbour', slug: 'harbour' });
    await createAgent(tx, director, id, { name: 'Ada' });
    await createApproval(tx, director, id, { type: 'action', title: 'Buy paper' });
    const { raw_key } = await mintBoardUserKey(tx, director, id, { role: 'admin', label: 'scripts' });
    return { company_id: id, key: raw_key };
  }));
  service = await startService({
    DATABASE_URL: test.url,
    SERVICE_HOME: path.join(folder, 'home'),
    SERVICE_ENCRYPTION_KEY: 'ab'.repeat(32),
    SERVICE_DEFAULT_LLM_PROVIDER: 'family_compat',
    SERVICE_DEFAULT_LLM_MODEL: 'test',
    SERVICE_DEFAULT_LLM_BASE_URL: model.url,
    RATE_LIMIT_RPM: '0',
  });
});

afterAll(async () => {
  await service?.stop();
  await model?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Returns a program's standard output. @throws with all of its output if it fails */
async function run(command: string, words: readonly string[], input = ''): Promise<string> {
  const env = {
    PATH: process.env.PATH ?? '',
    CONTROL_PLANE_URL: service.url,
    CONTROL_PLANE_KEY: key,
    CONTROL_PLANE_COMPANY: company_id,
  };
  return new Promise((resolve, reject) => {
    const child = execFile(command, words, { env, cwd: folder, timeout: 60_000 }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${error.message}\n${stdout}\n${stderr}`));
      else resolve(stdout.trim());
    });
    child.stdin!.end(input);
  });
}

const node = async (file: string, ...words: string[]) => run(process.execPath, [file, ...words]);

describe('the package of the client', () => {
  const consumer = path.join(folder, 'consumer');
  const compile = (file: string) =>
    spawnSync(
      path.join(repositoryRoot, 'node_modules/.bin/tsc'),
      [
        ['--ignoreConfig', '--strict', '--noEmit', '--target', 'es2022', '--module', 'nodenext'],
        ['--lib', 'es2023,dom,dom.iterable', '--types', 'node'],
        ['--typeRoots', path.join(repositoryRoot, 'node_modules/@types'), file],
      ].flat(),
      { cwd: consumer, encoding: 'utf8' },
    );

  beforeAll(() => {
    buildClient(path.join(consumer, 'node_modules', PACKAGE_NAME));
    writeFileSync(path.join(consumer, 'package.json'), '{"type": "module"}');
    copyFileSync(path.join(import.meta.dirname, 'consumer.txt'), path.join(consumer, 'good.ts'));
  });

  it('is JavaScript with declarations, without a dependency or a test', () => {
    const dist = readdirSync(path.join(consumer, 'node_modules', PACKAGE_NAME, 'dist'));
    expect(dist.every((file) => /^[a-z-]+\.(?:js|d\.ts)$/.test(file))).toBe(true);
    expect(dist).toContain('index.js');
  });

  it('types what a caller writes, and runs against a service', async () => {
    const { stdout, status } = compile('good.ts');
    expect([stdout, status]).toEqual(['', 0]);
    const printed = await node(path.join(consumer, 'good.ts'), service.url, key, company_id);
    expect(JSON.parse(printed)).toEqual({
      titles: ['Page 3', 'Page 2', 'Page 1'],
      same: true,
      refusals: [
        [404, 'not found'],
        [0, 'path.issueId is required'],
        [401, 'invalid api key'],
      ],
      file: 'In a file.',
      gone: undefined,
      seen: expect.arrayContaining(['issue_created', 'comment_created', 'issue_deleted']) as unknown,
    });
  });

  const wrong: [what: string, line: string, told: RegExp][] = [
    ['an operation that is none', "await c.call('issues.mend', {});", /issues\.mend/],
    ['a path without its parts', "await c.call('issues.get');", /Expected 2 arguments/],
    ['a body without what is required', "await c.call('issues.create', { path, body: {} });", /CreateIssue/],
    [
      'a value that is none of its own',
      "await c.call('issues.update', { path: { issueId: '' }, body: { status: 'so so' } });",
      /so so/,
    ],
    [
      'a field that no answer has',
      "(await c.call('issues.get', { path: { issueId: '' } })).colour;",
      /colour/,
    ],
    ['pages of what is no list', "c.pages('issues.get', { path: { issueId: '' } });", /issues\.get/],
  ];

  it('tells each mistake at its line', () => {
    const head = `import { createClient } from '${PACKAGE_NAME}';\nconst c = createClient({ base_url: '', api_key: '' });\nconst path = { companyId: '' };`;
    const lines = wrong.map(([, line]) => line);
    writeFileSync(path.join(consumer, 'bad.ts'), [head, ...lines].join('\n'));
    const { stdout } = compile('bad.ts');
    for (const [index, [what, , told]] of wrong.entries()) {
      const found = stdout.split(/(?=^bad\.ts)/m).find((text) => text.startsWith(`bad.ts(${index + 4},`));
      expect([what, found]).toEqual([what, expect.stringMatching(told) as unknown]);
    }
  });
});

describe('the pages of a list', () => {
  it('are read to the end, also where the items are a field of the answer', async () => {
    const client = createClient({ base_url: service.url, api_key: key });
    for (const name of ['Bea', 'Cleo'])
      await client.call('agents.create', { path: { companyId: company_id }, body: { name } });
    const names: string[] = [];
    for await (const { name } of client.pages('agents.list', { query: { limit: 1 } })) names.push(name);
    expect(names.toSorted()).toEqual(['Ada', 'Bea', 'Cleo']);
  });
});

describe('the live events behind a connection that breaks', () => {
  it('lose nothing between a cut and the reconnect, though no event had come before', async () => {
    const { hostname, port } = new URL(service.url);
    const pairs: Socket[][] = [];
    let passed = '';
    const relay = createServer((near) => {
      const far = connect(Number(port), hostname);
      for (const end of [near, far]) end.on('error', () => undefined);
      near.pipe(far).pipe(near);
      far.on('data', (chunk: Buffer) => (passed += chunk.toString()));
      pairs.push([near, far]);
    }).listen(0, '127.0.0.1');
    await once(relay, 'listening');
    const address = `http://127.0.0.1:${(relay.address() as AddressInfo).port}`;
    const events = createClient({ base_url: address, api_key: key }).events({ topics: ['issues'] });
    try {
      const first = events.next();
      await waitFor(() => /^id: \d+$/m.test(passed));
      pairs[0]!.forEach((end) => end.destroy());
      const direct = createClient({ base_url: service.url, api_key: key });
      await direct.call('issues.create', { path: { companyId: company_id }, body: { title: 'In between' } });
      const { value } = await first;
      expect(value).toMatchObject({ event: 'issue_created', data: { data: { title: 'In between' } } });
      expect(pairs).toHaveLength(2);
    } finally {
      relay.close();
      pairs.flat().forEach((end) => end.destroy());
    }
  });
});

const lacks = (tool: string) => spawnSync(tool, ['--version']).error !== undefined;
/** Skips tests on machines without these tools; the title says so. */
const needing = (...tools: string[]) => {
  const absent = tools.filter(lacks);
  return absent.length === 0
    ? ([describe, ''] as const)
    : ([describe.skip, ` (skipped: no ${absent.join()})`] as const);
};

describe('the scripts of examples/scripts', () => {
  it('ask-agent.ts has an agent work and prints what it says', async () => {
    const said = await node(path.join(scripts, 'ask-agent.ts'), 'Ada', 'Count the books');
    expect(said).toBe('I counted 4,120 books.');
  });

  it('weekly-report.ts tells what was done and what it cost', async () => {
    const report = await node(path.join(scripts, 'weekly-report.ts'));
    expect(report).toMatch(/^- HAR-\d+ Count the books$/m);
    expect(report).toMatch(/^- Ada: \d+\.\d\d USD, 1 runs$/m);
    expect(report).toContain('1 approvals, 0 questions');
  });
});

const [python, whyNoPython] = needing('python3');
python(`those in Python${whyNoPython}`, () => {
  it('import_issues.py makes an issue of a line, once', async () => {
    const csv = 'title,body,priority\n"Mend, the roof","It ""leaks"".",high\nPaint,,\n';
    const before = await test.database.db.$count(schema.issues);
    const first = await run('python3', [path.join(scripts, 'import_issues.py')], csv);
    expect(first).toMatch(/^HAR-\d+ Mend, the roof\nHAR-\d+ Paint$/);
    expect(await run('python3', [path.join(scripts, 'import_issues.py')], csv)).toBe(first);
    expect(await test.database.db.$count(schema.issues)).toBe(before + 2);
    const twins = await run('python3', [path.join(scripts, 'import_issues.py')], 'title\nTwin\nTwin\n');
    expect(new Set(twins.split('\n')).size).toBe(2);
    await expect(run('python3', [path.join(scripts, 'import_issues.py')], 'title\n" "\n')).rejects.toThrow(
      'HTTP 400',
    );
    const named = run('python3', [path.join(scripts, 'import_issues.py'), 'issues.csv'], csv);
    await expect(named).rejects.toThrow('usage: import_issues.py <issues.csv');
  });

  it('watch_runs.py prints runs as they end', async () => {
    const printed = await run('python3', [path.join(scripts, 'watch_runs.py'), '1', '0']);
    expect(printed).toMatch(/^succeeded assignment [0-9a-f-]{36}$/);
  });
});

const [shell, whyNoShell] = needing('bash', 'curl', 'jq');
shell(`those in bash${whyNoShell}`, () => {
  it('approve.sh lists what waits, and decides it', async () => {
    const approve = async (...words: string[]) => run('bash', [path.join(scripts, 'approve.sh'), ...words]);
    const [, id] = /^(\S+) {2}action {2}Buy paper$/.exec(await approve())!;
    expect(await approve('approve', id!, 'Only a little.')).toBe('Buy paper: approved');
    expect(await approve()).toBe('');
    const refused = approve('reject', id!);
    await expect(refused).rejects.toThrow('approval is resolved already');
    await expect(refused).rejects.not.toThrow('null');
  });

  it('back-up-company.sh keeps the newest bundles, and nothing of a refusal', async () => {
    const kept = path.join(folder, 'kept');
    mkdirSync(kept);
    for (const year of [2001, 2002]) writeFileSync(path.join(kept, `${year}-01-01T000000Z.json`), '{}');
    const said = await run('bash', [path.join(scripts, 'back-up-company.sh'), kept, '2']);
    expect(said).toMatch(/^3 agents, \d+ issues; left out: .*board-user keys/);
    const left = readdirSync(kept).toSorted();
    expect(left).toEqual(['2002-01-01T000000Z.json', expect.stringMatching(/^20[2-9].*Z\.json$/) as unknown]);
    const mine = company_id;
    company_id = 'nobody';
    await expect(run('bash', [path.join(scripts, 'back-up-company.sh'), kept, '2'])).rejects.toThrow(
      'not found',
    );
    company_id = mine;
    expect(readdirSync(kept).toSorted()).toEqual(left);
  });
});
