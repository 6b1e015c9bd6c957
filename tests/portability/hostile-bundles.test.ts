/** Malicious bundles: refused with the location of the fault, leaving everything unchanged. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema } from '@acp/db';
import { createLogger, loadConfig, newId } from '@acp/kernel';
import { databaseWithQueue } from '@acp/testkit';
import type { Express } from 'express';
import { gzipSync } from 'node:zlib';
import request from 'supertest';
import { createApp } from '../../apps/web/src/app.ts';
import { type Cast, createCast } from '../http/cast.ts';

let app: Express;
let database: Database;
let cast: Cast;
let before: unknown;

const { agents, companies, goals, issues, labels, providers, routines, skills } = schema;
const counted = [agents, companies, goals, issues, labels, providers, routines, skills];
const counts = async () => Promise.all(counted.map((table) => database.db.$count(table)));

beforeAll(async () => {
  database = await databaseWithQueue();
  const env = { RATE_LIMIT_RPM: '0', SERVICE_ENCRYPTION_KEY: '7'.repeat(64) };
  const limits = { SERVICE_MAX_UPLOAD_SIZE: '2MB', SERVICE_DOCKER_IMAGES: 'agent:1' };
  const rules = { SERVICE_PROVIDER_EGRESS: 'public', SERVICE_IMPORT_KEY_ENVS: 'LISTED_API_KEY' };
  const hosts = { SERVICE_LLM_ALLOWED_HOSTS: 'gateway.example.com' };
  app = createApp({
    database,
    logger: createLogger({ level: 'error', format: 'pretty', role: 'test' }),
    config: loadConfig({ ...env, ...limits, ...rules, ...hosts }),
    validate_responses: true,
  });
  cast = await createCast(database);
  before = await counts();
});

type Who = 'instance_admin' | 'admin' | 'member' | 'stranger' | 'board_admin' | 'agent';

const bundleOf = (lists: object) => ({
  format: 'company-bundle',
  version: 1,
  company: { name: 'Evil' },
  ...lists,
});
const send = async (body: object, who: Who = 'admin') =>
  request(app).post('/api/companies/import').set(cast[who].headers).send(body);
const merge = async (lists: object, more: object = {}) =>
  send({ bundle: bundleOf(lists), company_id: cast.company_id, ...more });
const upload = async (bytes: Buffer) =>
  request(app)
    .post('/api/companies/import')
    .set(cast.admin.headers)
    .field('company_id', cast.company_id)
    .attach('bundle', bytes, 'bundle.json');

const agent = (slug: string, more: object = {}) => ({ slug, name: slug, role: 'engineer', ...more });
const goal = (slug: string, more: object = {}) => ({ slug, title: slug, ...more });
const issue = (slug: string, more: object = {}) => ({ slug, title: slug, ...more });
const skill = { slug: 'knots', name: 'Knots', description: 'Ties.', body_markdown: '' };
const routine = (trigger: object) => ({ slug: 'r', name: 'R', triggers: [trigger] });
const provider = (more: object = {}) => ({ label: 'P', adapter_type: 'family_chat_a', ...more });
const chain = Array.from({ length: 65 }, (_, n) => goal(`g${n}`, n === 0 ? {} : { parent: `g${n - 1}` }));

const faults: [what: string, lists: object, message: RegExp][] = [
  ['an unknown field', { agents: [agent('a', { home_dir: '/' })] }, /^body\.bundle\.agents\.0 .*home_dir$/],
  ['an unknown role', { agents: [agent('a', { role: 'king' })] }, /^body\.bundle\.agents\.0\.role /],
  [
    'a slug that is listed twice',
    { skills: [skill, skill] },
    /^bundle\.skills\.1\.slug .*bundle\.skills\.0\.slug$/,
  ],
  [
    'a label that is listed twice in another case',
    { labels: [{ name: 'Urgent' }, { name: 'urgent ' }] },
    /^bundle\.labels\.1\.name is the same/,
  ],
  ['a name of nobody', { agents: [agent('a', { reports_to: 'b' })] }, /^bundle\.agents\.0\.reports_to: /],
  [
    'managers in a circle',
    { agents: [agent('a', { reports_to: 'b' }), agent('b', { reports_to: 'a' })] },
    /^bundle\.agents\.0\.reports_to creates a cycle$/,
  ],
  [
    'a goal below itself',
    { goals: [goal('g', { parent: 'g' })] },
    /^bundle\.goals\.0\.parent creates a cycle$/,
  ],
  ['too deep a tree', { goals: chain }, /^bundle\.goals\.64\.parent: at most 64 levels$/],
  [
    'issues that block each other',
    {
      issues: [
        issue('a', { relations: [{ type: 'blocks', target: 'b' }] }),
        issue('b', { relations: [{ type: 'blocks', target: 'c' }] }),
        issue('c', { relations: [{ type: 'blocks', target: 'a' }] }),
      ],
    },
    /^bundle\.issues\.0\.relations: .* in a cycle$/,
  ],
  ['an unknown permission', { agents: [agent('a', { permissions: { root: true } })] }, /permissions .*root$/],
  [
    'an image that the operator does not list',
    { agents: [agent('a', { adapter_type: 'docker', adapter_config: { image: 'evil' } })] },
    /^bundle\.agents\.0: adapter_config\.image is not allowed/,
  ],
  [
    'the same in the defaults of the company',
    { company: { name: 'E', agent_defaults: { adapter_type: 'docker', adapter_config: { image: 'evil' } } } },
    /^bundle\.company\.agent_defaults: adapter_config\.image is not allowed/,
  ],
  [
    'a provider inside the network',
    { providers: [provider({ base_url: 'http://169.254.169.254/' })] },
    /^bundle\.providers\.0: base_url names an address/,
  ],
  [
    'the environment’s own keys',
    { providers: [provider({ api_key_env: 'SERVICE_DEFAULT_LLM_API_KEY' })] },
    /^bundle\.providers\.0\.api_key_env must not begin with SERVICE_$/,
  ],
  [
    'a variable that is no key',
    { providers: [provider({ api_key_env: 'DATABASE_URL' })] },
    /^bundle\.providers\.0\.api_key_env must be a name that ends in _API_KEY$/,
  ],
  [
    'a variable that is not listed',
    { providers: [provider({ api_key_env: 'OTHER_API_KEY' })] },
    /^bundle\.providers\.0\.api_key_env: OTHER_API_KEY is not listed in SERVICE_IMPORT_KEY_ENVS$/,
  ],
  [
    'a schedule that is none',
    { routines: [routine({ kind: 'schedule', cron_expression: '* * * * * *' })] },
    /^bundle\.routines\.0\.triggers\.0: cron_expression/,
  ],
  [
    'a zone that is none',
    { routines: [routine({ kind: 'schedule', cron_expression: '0 9 * * *', timezone: 'Mars/Base' })] },
    /^bundle\.routines\.0\.triggers\.0: timezone/,
  ],
  [
    'a budget of nobody',
    { budget_policies: [{ scope_type: 'agent', window: 'day', limit_usd: 1 }] },
    /\.0\.scope must/,
  ],
  ['another version', { version: 2 }, /^body\.bundle\.version /],
  [
    'a document key with a line break',
    { issues: [issue('a', { documents: [{ key: 'a\nb', title: 'T', body: '' }] })] },
    /^bundle\.issues\.0\.documents\.0\.key is not a document key$/,
  ],
];

describe('an import of what is not in order', () => {
  it.each(faults)('names the place of %s, and changes nothing', async (_what, lists, message) => {
    const answer = await merge(lists);
    expect([answer.status, answer.body]).toEqual([400, { error: expect.stringMatching(message) as unknown }]);
    expect(await counts()).toEqual(before);
  });

  it('takes nothing back half-way: a fault that only the database finds leaves nothing either', async () => {
    const good = { agents: [agent('a')], skills: [skill], issues: [issue('i')] };
    const cloud = { providers: [provider({ adapter_type: 'family_cloud' })] };
    const answer = await merge({ ...good, ...cloud }, { provider_keys: { P: 'no credentials' } });
    expect(answer.status).toBe(400);
    expect(await counts()).toEqual(before);
  });

  it('takes a key for no provider, an unknown template and no bundle at all for mistakes', async () => {
    expect((await merge({}, { provider_keys: { Nobody: 'key' } })).body).toEqual({
      error: 'provider_keys: the bundle has no provider called nobody',
    });
    const into = { company_id: cast.company_id };
    expect((await send({ ...into, template: 'no-such' })).status).toBe(404);
    expect((await send(into)).status).toBe(400);
    expect((await send({ bundle: bundleOf({}) })).status).toBe(400);
  });
});

describe('a file that is no bundle', () => {
  const json = (lists: object) => Buffer.from(JSON.stringify(bundleOf(lists)));
  const files: [what: string, bytes: () => Buffer, status: number, error: RegExp][] = [
    ['packed', () => gzipSync(json({})), 400, /^bundle: it is compressed/],
    ['an archive', () => Buffer.from('PK\u0003\u0004…'), 400, /^bundle: it is compressed/],
    [
      'a page',
      () => Buffer.from('<!doctype html><script>alert(1)</script>'),
      400,
      /^bundle: it is not JSON$/,
    ],
    ['no text', () => Buffer.from([0xff, 0xfe, 0x00]), 400, /^bundle: it is not UTF-8 text$/],
    ['nested', () => Buffer.from(`${'['.repeat(100_000)}${']'.repeat(100_000)}`), 400, /nested too deeply$/],
    [
      'half a character',
      () => Buffer.from('{"format":"\\ud800"}'),
      400,
      /^bundle\.format: invalid character/,
    ],
    ['a prototype', () => Buffer.from('{"__proto__":{"a":1}}'), 400, /^bundle: invalid name of a field$/],
    ['huge', () => Buffer.alloc(100_000_000, 0x20), 413, /./],
  ];

  it.each(['__proto__', 'constructor', 'prototype'])(
    'is refused in a JSON body: a field %s',
    async (name) => {
      for (const place of [
        `"${name}":{"a":1}`,
        `"agents":[{"slug":"a","name":"A","role":"engineer","${name}":{"a":1}}]`,
      ]) {
        const bundle = `{"format":"company-bundle","version":1,"company":{"name":"Evil"},${place}}`;
        const answer = await request(app)
          .post('/api/companies/import')
          .set(cast.admin.headers)
          .set('content-type', 'application/json')
          .send(`{"company_id":"${cast.company_id}","bundle":${bundle}}`);
        expect([answer.status, answer.body]).toEqual([
          400,
          { error: expect.stringContaining(name) as unknown },
        ]);
      }
      expect(await counts()).toEqual(before);
    },
  );

  it.each(files)('is refused: %s', async (_what, bytes, status, error) => {
    const answer = await upload(bytes());
    expect([answer.status, answer.body]).toEqual([
      status,
      { error: expect.stringMatching(error) as unknown },
    ]);
    expect(await counts()).toEqual(before);
  });

  it.each([
    ['{', 'body.new_company is not JSON'],
    ['[[[[[]]]]]', 'body.new_company is nested too deeply'],
  ])('is refused with what is wrong beside it: %s', async (new_company, error) => {
    const answer = await request(app)
      .post('/api/companies/import')
      .set(cast.instance_admin.headers)
      .field('new_company', new_company)
      .attach('bundle', json({}), 'bundle.json');
    expect([answer.status, answer.body]).toEqual([400, { error }]);
    expect(await counts()).toEqual(before);
  });

  it('passes where it is in order; markup in it is text', async () => {
    const name = '<script>alert(1)</script>';
    const answer = await request(app)
      .post('/api/companies/import')
      .set(cast.instance_admin.headers)
      .field('new_company', JSON.stringify({ name, slug: 'marked-up' }))
      .field('dry_run', 'true')
      .attach('bundle', json({ agents: [agent('a', { name })] }), 'bundle.json');
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ company_id: null, created: { agents: 1 } });
    expect(await counts()).toEqual(before);
  });
});

describe('who may import', () => {
  const bundle = bundleOf({ agents: [agent('a')] });

  it('a new company: instance admins; into a company: its admins; what is not seen is not there', async () => {
    const made = { new_company: { name: 'New', slug: `new-${newId()}` }, dry_run: true };
    const merged = { company_id: cast.company_id, dry_run: true };
    const statuses = async (body: object) =>
      Promise.all(
        (['instance_admin', 'admin', 'board_admin', 'member', 'stranger', 'agent'] as const).map(
          async (who) => (await send({ bundle, ...body }, who)).status,
        ),
      );
    expect(await statuses(made)).toEqual([200, 403, 403, 403, 403, 401]);
    expect(await statuses(merged)).toEqual([200, 200, 200, 403, 404, 401]);
  });

  it('an admin of a company may name a listed variable; without a key the provider is made switched off', async () => {
    const listed = bundleOf({ providers: [provider({ api_key_env: 'LISTED_API_KEY' })] });
    const dry = { bundle: listed, company_id: cast.company_id, dry_run: true };
    const warned = async () => ((await send(dry)).body as { warnings: string[] }).warnings;
    expect(await warned()).toEqual(['Provider P has no key and is switched off.']);
    process.env.LISTED_API_KEY = 'from the environment';
    try {
      expect((await warned())[0]).toContain('LISTED_API_KEY of the service’s environment');
    } finally {
      delete process.env.LISTED_API_KEY;
    }
  });

  it('an admin of a company has the operator’s key sent to no address but those that the operator names', async () => {
    const to = (base_url: string) =>
      bundleOf({
        providers: [
          provider({
            adapter_type: 'family_compat',
            base_url,
            api_key_env: 'LISTED_API_KEY',
            needs_api_key: true,
          }),
        ],
      });
    const dry = { company_id: cast.company_id, dry_run: true };
    const evil = to('https://evil.example.com/v1');
    const refused = await send({ ...dry, bundle: evil });
    expect([refused.status, refused.body.error]).toEqual([
      400,
      expect.stringMatching(
        /^bundle\.providers\.0\.api_key_env: the key of LISTED_API_KEY goes to no base_url/,
      ),
    ]);
    // The importer's own key is sent wherever the importer says.
    expect((await send({ ...dry, bundle: evil, provider_keys: { P: 'my own' } })).status).toBe(200);
    expect((await send({ ...dry, bundle: to('https://gateway.example.com/v1') })).status).toBe(200);
    process.env.LISTED_API_KEY = 'from the environment';
    try {
      const told = await send({ ...dry, bundle: evil }, 'instance_admin');
      expect(told.body.warnings[0]).toContain('and sends it to https://evil.example.com/v1');
    } finally {
      delete process.env.LISTED_API_KEY;
    }
  });

  it('an instance admin may name any variable that ends in _API_KEY, and is told where the key comes from', async () => {
    process.env.ACP_TEST_API_KEY = 'from the environment';
    try {
      const named = bundleOf({ providers: [provider({ api_key_env: 'ACP_TEST_API_KEY' })] });
      const answer = await send(
        { bundle: named, company_id: cast.company_id, dry_run: true },
        'instance_admin',
      );
      expect(answer.body).toMatchObject({
        created: { providers: 1 },
        warnings: ['Provider P takes its key from ACP_TEST_API_KEY of the service’s environment.'],
      });
    } finally {
      delete process.env.ACP_TEST_API_KEY;
    }
  });
});
