import { beforeAll, expect, it } from '@jest/globals';
import { type Database, transaction, type Tx } from '@acp/db';
import { hmacSha256Hex, newId, Vault } from '@acp/kernel';
import { actors, createAgent, createCompany, databaseWithQueue } from '@acp/testkit';
import {
  createRoutine,
  createTrigger,
  findRoutine,
  findRoutineTrigger,
  fireWebhook,
  listTriggers,
  openWebhook,
  rotateSecret,
  rotateUrl,
  setSigningMode,
  updateRoutine,
} from './index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

it('a run makes no webhook and learns no way to fire one, as that would outlast it; a schedule it may make', async () => {
  const inTx = async <T>(work: (tx: Tx) => Promise<T>) => transaction(database, work);
  const vault = new Vault(Buffer.alloc(32, 7));
  const company = await createCompany(database.db);
  const agent = await createAgent(database.db, company);
  const person = actors.board(company, 'member');
  const [own, run] = [actors.agent(agent), actors.agent(agent, { run_id: newId() })];
  const routine = await inTx((tx) => createRoutine(tx, person, company.id, { name: 'Nightly' }));
  const hook = await inTx((tx) => createTrigger(tx, own, routine, { kind: 'webhook' }, vault));
  const row = (await findRoutineTrigger(database.db, hook.id))!;
  const refused = [
    (tx: Tx) => createTrigger(tx, run, routine, { kind: 'webhook' }, vault),
    (tx: Tx) => rotateUrl(tx, run, row),
    (tx: Tx) => setSigningMode(tx, run, row, 'hmac', vault),
    (tx: Tx) => rotateSecret(tx, run, { ...row, signing_mode: 'hmac' }, vault),
  ];
  for (const act of refused) await expect(inTx<unknown>(act)).rejects.toMatchObject({ kind: 'forbidden' });
  const { items } = await listTriggers(database.db, run, routine, {});
  expect(items.map(({ public_id }) => public_id)).toEqual([null]);
  const schedule = { kind: 'schedule', cron_expression: '0 9 * * 1' } as const;
  expect(await inTx((tx) => createTrigger(tx, run, routine, schedule, vault))).toMatchObject(schedule);
});

it('what a webhook is no longer fired with ends with it, even for a request that was let in before', async () => {
  const inTx = async <T>(work: (tx: Tx) => Promise<T>) => transaction(database, work);
  const vault = new Vault(Buffer.alloc(32, 7));
  const company = await createCompany(database.db);
  const person = actors.agent(await createAgent(database.db, company));
  const routine = await inTx((tx) => createRoutine(tx, person, company.id, { name: 'Nightly' }));
  const body = Buffer.from('{}');
  const ends: [
    string,
    (tx: Tx, row: NonNullable<Awaited<ReturnType<typeof findRoutineTrigger>>>) => Promise<unknown>,
  ][] = [
    ['hmac', (tx, row) => rotateSecret(tx, person, row, vault)],
    ['hmac', (tx, row) => rotateUrl(tx, person, row)],
    ['hmac', (tx, row) => setSigningMode(tx, person, row, 'hmac_ts', vault)],
    ['none', (tx, row) => setSigningMode(tx, person, row, 'hmac', vault)],
  ];
  for (const [mode, end] of ends) {
    const signing_mode = mode as 'hmac' | 'none';
    const hook = await inTx((tx) =>
      createTrigger(tx, person, routine, { kind: 'webhook', signing_mode }, vault),
    );
    const signature = hook.secret === null ? undefined : hmacSha256Hex(hook.secret, body);
    const opened = await openWebhook(
      database.db,
      hook.public_id,
      { body, signature, timestamp: undefined },
      vault,
    );
    await inTx(async (tx) => end(tx, (await findRoutineTrigger(tx, hook.id))!));
    await expect(inTx((tx) => fireWebhook(tx, opened, body))).rejects.toMatchObject({ kind: 'not_found' });
  }
});

it('a webhook’s signing is changed by the row as it is, not as the request found it', async () => {
  const inTx = async <T>(work: (tx: Tx) => Promise<T>) => transaction(database, work);
  const vault = new Vault(Buffer.alloc(32, 7));
  const company = await createCompany(database.db);
  const person = actors.agent(await createAgent(database.db, company));
  const routine = await inTx((tx) => createRoutine(tx, person, company.id, { name: 'Nightly' }));
  const hook = async (signing_mode: 'none' | 'hmac') => {
    const { id } = await inTx((tx) =>
      createTrigger(tx, person, routine, { kind: 'webhook', signing_mode }, vault),
    );
    const now = async () => (await findRoutineTrigger(database.db, id))!;
    const before = await now();
    const sign = async (mode: 'none' | 'hmac' | 'hmac_ts', row = before) =>
      inTx((tx) => setSigningMode(tx, person, row, mode, vault));
    return { before, now, sign };
  };
  const signed = await hook('hmac');
  await signed.sign('none');
  expect((await signed.sign('hmac_ts')).secret).not.toBeNull();
  expect((await signed.now()).secret_sealed).not.toBeNull();
  await signed.sign('none', await signed.now());
  const renewed = inTx((tx) => rotateSecret(tx, person, signed.before, vault));
  await expect(renewed).rejects.toMatchObject({ kind: 'conflict' });

  const open = await hook('none');
  await open.sign('hmac');
  await open.sign('none');
  expect((await open.now()).public_id).not.toBe(open.before.public_id);
});

it('an agent that may not assign changes no routine that has been given an assignee meanwhile', async () => {
  const inTx = async <T>(work: (tx: Tx) => Promise<T>) => transaction(database, work);
  const company = await createCompany(database.db);
  const person = actors.board(company, 'member');
  const [agent, assignee] = [
    await createAgent(database.db, company),
    await createAgent(database.db, company),
  ];
  const clerk = actors.agent(agent, { permissions: { 'issues.create': true, 'issues.assign': false } });
  const { id } = await inTx((tx) => createRoutine(tx, person, company.id, { name: 'Nightly' }));
  const before = (await findRoutine(database.db, id))!;
  await inTx((tx) => updateRoutine(tx, person, before, { assignee_agent_id: assignee.id }));
  const changed = inTx((tx) => updateRoutine(tx, clerk, before, { body_template: 'Do this instead' }));
  await expect(changed).rejects.toMatchObject({ kind: 'forbidden' });
});
