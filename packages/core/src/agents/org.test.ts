import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Agent } from '@acp/contract';
import { type Database, transaction } from '@acp/db';
import * as kit from '@acp/testkit';
import { agentDefaults } from '../companies/index.ts';
import { createAgent, deleteAgent, directReports, findAgent, orgTree, updateAgentDefaults } from './index.ts';

let database: Database;
beforeAll(async () => {
  database = await kit.databaseWithQueue();
});

async function setUp() {
  const company = await kit.createCompany(database.db);
  const board = kit.actors.board(company);
  const hire = async (name: string, reports_to: string | null = null) =>
    transaction(
      database,
      async (tx) => (await createAgent(tx, board, company.id, { name, reports_to })) as Agent,
    );
  return { company, board, hire };
}

describe('the reporting tree', () => {
  it('shows a viewer everybody below whom they report to, by name, without those in the trash', async () => {
    const { company, board, hire } = await setUp();
    const ada = await hire('Ada');
    const bob = await hire('Bob', ada.id);
    await hire('Cy', bob.id);
    const gone = (await findAgent(database.db, (await hire('Al', ada.id)).id))!;
    await transaction(database, async (tx) => deleteAgent(tx, board, gone));
    expect(await orgTree(database.db, company.id)).toMatchObject([
      { name: 'Ada', reports: [{ name: 'Bob', reports: [{ name: 'Cy', reports: [] }] }] },
    ]);
    const reports = await directReports(database.db, (await findAgent(database.db, ada.id))!, {});
    expect(reports.items.map(({ id }) => id)).toEqual([bob.id]);
  });
});

describe('agent defaults', () => {
  it('an admin changes some: the others stay, and the next agent has them', async () => {
    const { company, board, hire } = await setUp();
    const before = await agentDefaults(database.db, company.id);
    const input = { adapter_config: { model: 'm' }, heartbeat_interval_sec: 77 };
    const after = await transaction(database, async (tx) =>
      updateAgentDefaults(tx, board, company.id, input),
    );
    expect(after).toEqual({ ...before, ...input });
    expect(await hire('Ada')).toMatchObject(input);
  });
});
