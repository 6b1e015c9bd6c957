import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Database } from '@acp/db';
import { createAgent, createCompany, databaseWithQueue, nextInstant } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { listAgentOutlines } from './index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

describe('the agents as pages name and offer them', () => {
  it('are all there, however many there are, however long their prompts, before finished sub-agents', async () => {
    const company = await createCompany(database.db);
    const chief = await createAgent(database.db, company, { name: 'Chief' });
    await nextInstant();
    await database.db.execute(sql`
      insert into agents (company_id, name, role, adapter_type, status, system_prompt, parent_agent_id, heartbeat_enabled,
        heartbeat_interval_sec)
      select ${company.id}, 'Agent ' || n, 'engineer', 'llm', case when n <= 1100 then 'terminated' else 'idle' end,
        repeat('x', 9000), case when n <= 1100 then ${chief.id}::uuid end, false, 300
      from generate_series(1, 1700) n`);
    const found = await listAgentOutlines(database.db, company.id);
    expect(found).toHaveLength(1701);
    expect(found.findIndex(({ id }) => id === chief.id)).toBe(600);
    expect(found[600]).toEqual({
      id: chief.id,
      name: 'Chief',
      role: 'engineer',
      title: null,
      status: 'idle',
      reports_to: null,
      parent_agent_id: null,
      adapter_type: 'llm',
      provider_id: null,
      model: null,
    });
  });
});
