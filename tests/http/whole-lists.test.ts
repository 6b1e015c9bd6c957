/** Lists that the specification documents without a limit come whole: more than the page of those that have one. */
import { beforeAll, expect, it } from '@jest/globals';
import { type Database, schema } from '@acp/db';
import { createLogger, loadConfig, newId } from '@acp/kernel';
import { databaseWithQueue } from '@acp/testkit';
import type { Express } from 'express';
import request from 'supertest';
import { createApp } from '../../apps/web/src/app.ts';
import { type Cast, createCast } from './cast.ts';

let database: Database;
let app: Express;
let cast: Cast;
beforeAll(async () => {
  database = await databaseWithQueue();
  const config = loadConfig({ RATE_LIMIT_RPM: '0' });
  const logger = createLogger({ level: 'error', format: 'pretty', role: 'test' });
  app = createApp({ database, logger, config, validate_responses: true });
  cast = await createCast(database);
});

const many = <T>(count: number, make: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => make(n));
const read = async (path: string, who: 'board_admin' | 'agent') =>
  (await request(app).get(path).set(cast[who].headers).expect(200)).body;

it('peers', async () => {
  const { company_id } = cast;
  const url = 'https://peer.example';
  await database.db
    .insert(schema.a2a_peers)
    .values(many(51, (n) => ({ company_id, label: `Peer ${n}`, url, enabled: false })));
  const peers = await read(`/api/companies/${company_id}/a2a/peers`, 'board_admin');
  expect(peers.length).toBeGreaterThanOrEqual(51);
});

it('the audit of plugins', async () => {
  const { company_id } = cast;
  const entity_id = newId();
  const entry = { company_id, entity_type: 'plugin', entity_id, action: 'plugin.allow_denied', details: {} };
  await database.db
    .insert(schema.activity)
    .values(many(51, () => ({ ...entry, actor_type: 'system', actor_name: 'system' })));
  const audit = await read(`/api/companies/${company_id}/plugins/audit`, 'board_admin');
  expect(audit.filter(({ plugin_id }: { plugin_id: string }) => plugin_id === entity_id)).toHaveLength(51);
});

it('the open issues of an agent', async () => {
  const { company_id, agent_id } = cast;
  const issue = { company_id, title: 'Open', assignee_agent_id: agent_id };
  await database.db
    .insert(schema.issues)
    .values(many(201, (n) => ({ ...issue, issue_number: 1000 + n, identifier: `OPEN-${n}` })));
  const inbox = await read('/api/agents/me/inbox-lite', 'agent');
  expect(inbox.issues.length).toBeGreaterThanOrEqual(201);
});

it('the directory of externally available agents', async () => {
  const { company_id } = cast;
  const agent = { company_id, role: 'general', adapter_type: 'llm', heartbeat_enabled: false } as const;
  await database.db.insert(schema.agents).values(
    many(201, (n) => ({
      ...agent,
      name: `Available ${n}`,
      heartbeat_interval_sec: 300,
      externally_available: true,
    })),
  );
  const card = await read(`/companies/${company_id}/.well-known/agent-card.json`, 'agent');
  expect(card.agents.length).toBeGreaterThanOrEqual(201);
});
