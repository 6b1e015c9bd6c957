/** What an MCP client is offered while somebody types an argument, in a company with many of everything. */
import { expect, it } from '@jest/globals';
import { schema } from '@acp/db';
import { createLogger, loadConfig } from '@acp/kernel';
import { createAgent, databaseWithQueue } from '@acp/testkit';
import request from 'supertest';
import { createApp } from '../../apps/web/src/app.ts';
import { createCast } from './cast.ts';
import { type Answer, rpc } from './mcp-messages.ts';

it('offers the agents and skills that begin with what is typed, however many there are', async () => {
  const database = await databaseWithQueue();
  const logger = createLogger({ level: 'error', format: 'json', role: 'test' });
  const app = createApp({ database, logger, config: loadConfig({ RATE_LIMIT_RPM: '0' }) });
  const { company_id, board_admin } = await createCast(database);
  for (let count = 0; count < 401; count++)
    await createAgent(
      database.db,
      { id: company_id },
      { name: count === 200 ? 'Zoe' : `Agent no. ${count}` },
    );
  const skills = Array.from({ length: 401 }, (_, count) => ({
    company_id,
    name: 'Skill',
    description: '',
    slug: count === 200 ? 'zeal' : `skill-${count}`,
    body_markdown: 'Do it.',
  }));
  await database.db.insert(schema.skills).values(skills);
  const values = async (uri: string, name: string, value: string): Promise<string[]> => {
    const params = { ref: { type: 'ref/resource', uri }, argument: { name, value } };
    const { body } = await request(app)
      .post(`/mcp/${company_id}`)
      .set(board_admin.headers)
      .send(rpc('completion/complete', params));
    return (body as Answer['body']).result!.completion.values;
  };
  expect(await values('service://agents/{agent}', 'agent', 'zo')).toEqual(['Zoe']);
  expect(await values('service://skills/{skill}', 'skill', 'ze')).toEqual(['zeal']);
});
