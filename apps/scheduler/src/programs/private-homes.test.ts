import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { schema } from '@acp/db';
import { newId } from '@acp/kernel';
import { cloneDatabase, createAgent, createCompany } from '@acp/testkit';
import { clearPrivateHomes } from './private-homes.ts';

const top = mkdtempSync(path.join(tmpdir(), 'acp-private-homes-'));
afterAll(() => rmSync(top, { recursive: true, force: true }));

it('homes of private runs that have ended, or that nobody knows for a day, are removed', async () => {
  const { database } = await cloneDatabase('private_homes');
  const company = await createCompany(database.db);
  const agent = await createAgent(database.db, company);
  const runOf = async (values: { status: string; finished_at?: Date }) => {
    const base = {
      company_id: company.id,
      agent_id: agent.id,
      wake_reason: 'chat',
      adapter_type: 'cli_a_local',
    };
    const [row] = await database.db
      .insert(schema.heartbeat_runs)
      .values({ ...base, ...values })
      .returning();
    return row!.id;
  };
  const lay = (name: string, days = 0) => {
    mkdirSync(path.join(top, name, 'files'), { recursive: true });
    const at = new Date(Date.now() - days * 86_400_000);
    utimesSync(path.join(top, name), at, at);
    return name;
  };
  const kept = [lay(await runOf({ status: 'running' }), 2), lay(newId()), lay('notes', 2)];
  lay(await runOf({ status: 'failed', finished_at: new Date() }));
  lay(newId(), 2);
  expect(await clearPrivateHomes(database, top)).toBe(2);
  expect(readdirSync(top).toSorted()).toEqual(kept.toSorted());
});
