/** The cap of a JSON body is the only limit of a long text: what fits into 1 MiB is kept, whichever field it fills. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Database } from '@acp/db';
import { createLogger, loadConfig } from '@acp/kernel';
import { createIssue, databaseWithQueue } from '@acp/testkit';
import type { Express } from 'express';
import request from 'supertest';
import { createApp } from '../../apps/web/src/app.ts';
import { type Cast, createCast } from './cast.ts';

const CAP = 1_048_576;

let database: Database;
let app: Express;
let cast: Cast;
let issue_id: string;

beforeAll(async () => {
  database = await databaseWithQueue();
  const logger = createLogger({ level: 'error', format: 'json', role: 'test' });
  const config = loadConfig({ RATE_LIMIT_RPM: '0' });
  app = createApp({ database, logger, config, validate_responses: true });
  cast = await createCast(database);
  issue_id = (await createIssue(database.db, { id: cast.company_id })).id;
});

describe('a body of exactly 1 MiB', () => {
  it.each([
    [
      'an issue',
      'post',
      () => `/api/companies/${cast.company_id}/issues`,
      'body_markdown',
      { title: 'Long' },
      'body_markdown',
    ],
    ['a comment', 'post', () => `/api/issues/${issue_id}/comments`, 'body_markdown', {}, 'body_markdown'],
    [
      'a document',
      'put',
      () => `/api/issues/${issue_id}/documents/plan`,
      'body',
      { title: 'Plan' },
      'latest_body',
    ],
    ['a prompt', 'patch', () => `/api/agents/${cast.agent_id}`, 'system_prompt', {}, 'system_prompt'],
  ] as const)('is kept as %s; a byte more is 413', async (_what, method, path, field, rest, shown) => {
    const frame = JSON.stringify({ ...rest, [field]: '' }).length;
    const text = 'many words '
      .repeat(CAP / 11)
      .padEnd(CAP - frame, 'x')
      .slice(0, CAP - frame);
    const send = (body: object) => request(app)[method](path()).set(cast.admin.headers).send(body);
    const { status, body } = await send({ ...rest, [field]: text });
    expect([status, body.error]).toEqual([expect.any(Number), undefined]);
    expect(body[shown]).toHaveLength(text.length);
    expect(status).toBeLessThan(300);
    expect((await send({ ...rest, [field]: `${text}x` })).status).toBe(413);
  });
});
