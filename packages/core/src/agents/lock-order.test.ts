import { beforeAll, expect, it } from '@jest/globals';
import { type Database, type Tx } from '@acp/db';
import { actors, createAgent, createCompany, databaseWithQueue, meetAt } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import {
  deleteAgent,
  findAgent,
  pauseAgent,
  resumeAgent,
  settleBudgets,
  updateAgent,
  updatePermissions,
} from '../index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

const HIGH = 'ffffffff-ffff-4fff-8fff-ffffffffff';
const LOW = '00000000-0000-4000-8000-0000000000';

const admin = actors.system;
const commands: [string, string | undefined, (tx: Tx, id: string) => Promise<unknown>][] = [
  ['pauses', undefined, async (tx, id) => pauseAgent(tx, admin, (await findAgent(tx, id))!)],
  ['resumes', 'paused', async (tx, id) => resumeAgent(tx, admin, (await findAgent(tx, id))!)],
  [
    'changes the status of',
    undefined,
    async (tx, id) => updateAgent(tx, admin, (await findAgent(tx, id))!, { status: 'paused' }),
  ],
  [
    'restricts',
    undefined,
    async (tx, id) => updatePermissions(tx, admin, (await findAgent(tx, id))!, { 'files.write': false }),
  ],
  ['deletes', undefined, async (tx, id) => deleteAgent(tx, admin, (await findAgent(tx, id))!)],
];

it.each(commands.map(([name, status, command], place) => ({ name, status, command, place })))(
  'who $name an agent while budgets settle takes turns with them, whatever the order of the ids',
  async ({ status, command, place }) => {
    const company = await createCompany(database.db);
    const of = { id: `${HIGH}${place}1`, ...(status === undefined ? {} : { status }) };
    const parent = await createAgent(database.db, company, of);
    const below = { parent_agent_id: parent.id, ancestor_ids: [parent.id], reports_to: parent.id };
    const child = await createAgent(database.db, company, { id: `${LOW}${place}1`, ...below });

    const outcomes = await meetAt(database, sql`select from agents where id = ${child.id} for update`, [
      async (tx) => settleBudgets(tx, company.id),
      async (tx) => command(tx, parent.id),
    ]);
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['fulfilled', 'fulfilled']);
  },
);
