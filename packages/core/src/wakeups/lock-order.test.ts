import { beforeAll, expect, it } from '@jest/globals';
import { type Database, schema, type Tx } from '@acp/db';
import { newId } from '@acp/kernel';
import { actors, createAgent, createCompany, createIssue, databaseWithQueue, meetAt } from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import {
  bindWakeups,
  cancelWakeups,
  consumeInbox,
  consumeWakeups,
  requestWakeups,
  returnWakeups,
} from './index.ts';

const { wakeup_requests } = schema;

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

interface Pending {
  company_id: string;
  agent_id: string;
  run_id: string;
  wakeup_ids: string[];
}

/** PostgreSQL finds them in the order of the table, as it does where there are many. */
const asStored = async (tx: Tx) => tx.execute(sql`set local enable_indexscan = off`);

it.each<[string, (tx: Tx, pending: Pending) => Promise<unknown>, { bound?: true }]>([
  [
    'are consumed by a look into the inbox',
    async (tx, { agent_id }) => {
      await asStored(tx);
      return consumeInbox(tx, agent_id);
    },
    {},
  ],
  [
    'are cancelled with their agent',
    async (tx, { agent_id }) => {
      await asStored(tx);
      return cancelWakeups(tx, { agent_id });
    },
    {},
  ],
  [
    'are bound to a run',
    async (tx, { wakeup_ids, run_id }) =>
      bindWakeups(
        tx,
        wakeup_ids.map((wakeup_id) => ({ wakeup_id, run_id })),
      ),
    {},
  ],
  ['are consumed with their run', async (tx, { run_id }) => consumeWakeups(tx, [run_id]), { bound: true }],
  ['come back from their run', async (tx, { run_id }) => returnWakeups(tx, run_id), { bound: true }],
])('wakeups %s while the same are requested again', async (_what, act, { bound }) => {
  const company = await createCompany(database.db);
  const agent = await createAgent(database.db, company);
  const idOf = (head: string) => `${head}-${crypto.randomUUID().slice(9)}`;
  const [low, high] = [
    await createIssue(database.db, company, { id: idOf('00000000') }),
    await createIssue(database.db, company, { id: idOf('ffffffff') }),
  ];
  const run_id = newId();
  const of = { company_id: company.id, agent_id: agent.id, reason: 'comment' } as const;
  // The other way round by their own ids, and in the table.
  const rows = [
    { ...of, id: idOf('00000000'), issue_id: high.id },
    { ...of, id: idOf('ffffffff'), issue_id: low.id },
  ];
  await database.db.insert(wakeup_requests).values(rows.map((row) => (bound ? { ...row, run_id } : row)));
  const wakeup_ids = rows.map(({ id }) => id);
  const outcomes = await meetAt(
    database,
    sql`select from wakeup_requests where agent_id = ${agent.id} and issue_id = ${high.id} for update`,
    [
      async (tx) => act(tx, { company_id: company.id, agent_id: agent.id, run_id, wakeup_ids }),
      async (tx) =>
        requestWakeups(
          tx,
          actors.system,
          [low, high].map(({ id }) => ({ ...of, issue_id: id })),
        ),
    ],
  );
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  expect(await database.db.$count(wakeup_requests, eq(wakeup_requests.agent_id, agent.id))).toBeGreaterThan(
    1,
  );
});
