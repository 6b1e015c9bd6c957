import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Actor } from '@acp/contract';
import { type Database, schema, transaction } from '@acp/db';
import { newId, sha256Hex, Vault } from '@acp/kernel';
import * as kit from '@acp/testkit';
import { and, eq, inArray, sql } from 'drizzle-orm';
import { createAgent, createAgentKey, resolveBearer } from '../agents/index.ts';
import { createChannel } from '../channels/index.ts';
import { acceptInvite, createInvite, mintBoardUserKey, previewInvite } from '../companies/index.ts';
import { openSession } from '../identity/index.ts';
import {
  createRoutine,
  createTrigger,
  findRoutineTrigger,
  rotateSecret,
  rotateUrl,
} from '../routines/index.ts';
import { createWebhook, updateWebhook } from '../webhooks/index.ts';
import { createWorker, moveWorker } from '../workers/index.ts';
import { createRepositoryWebhook } from '../workspaces/index.ts';
import {
  changeInstanceRole,
  changeMember,
  completePasswordReset,
  countCredentials,
  deactivateUser,
  deleteUser,
  findProviderUser,
  listCredentials,
  removeMember,
} from './index.ts';

const { activity, agent_api_keys, board_user_keys, memberships, routine_triggers, security_events } = schema;
const { webhooks, workers } = schema;
const { actors } = kit;
const vault = new Vault(Buffer.alloc(32, 7));
const rules = { allowed_hosts: ['hooks.test'] };

let database: Database;
beforeAll(async () => {
  database = await kit.databaseWithQueue();
});

const inTx = <T>(work: Parameters<typeof transaction<T>>[1]) => transaction(database, work);

/** Eve, an admin who has created one credential of each kind, and the boss who is about to take her rights. */
async function setUp(
  values: { instance_role?: 'admin'; email_verified_at?: null; password_hash?: string } = {},
) {
  const company = await kit.createCompany(database.db);
  const agent = await kit.createAgent(database.db, company);
  const eve = await kit.createUser(database.db, values);
  const boss = await kit.createUser(database.db, { instance_role: 'admin' });
  for (const user of [eve, boss]) await kit.createMembership(database.db, company, user, 'admin');
  const as = (user: typeof eve): Actor => ({
    ...actors.user(user, { [company.id]: 'admin' }),
    ...(user.instance_role === 'admin' ? { instance_role: 'admin' } : {}),
  });
  const made = await inTx((tx) => makeAll(tx, as(eve), company.id, agent.id));
  return { company, agent, eve, boss, by_eve: as(eve), by_boss: as(boss), made };
}

async function makeAll(
  tx: Parameters<typeof createWebhook>[0],
  actor: Actor,
  company_id: string,
  agent_id: string,
) {
  const board = await mintBoardUserKey(tx, actor, company_id, { role: 'member', label: 'CI' });
  const key = await createAgentKey(tx, actor, company_id, { agent_id, label: 'laptop' });
  const routine = await createRoutine(tx, actor, company_id, { name: 'Deploys', title_template: 'Deploy' });
  const trigger = await createTrigger(tx, actor, routine, { kind: 'webhook', signing_mode: 'hmac' }, vault);
  const schedule = { kind: 'schedule', cron_expression: '0 9 * * 1' } as const;
  await createTrigger(tx, actor, routine, schedule, vault);
  const hook = { url: 'http://hooks.test/x', events: ['*'] };
  const webhook = await createWebhook(tx, actor, company_id, hook, vault, rules);
  const [row] = await tx.insert(schema.projects).values({ company_id, name: 'Site' }).returning();
  await createRepositoryWebhook(tx, actor, row!, vault);
  return { board, key, trigger, webhook };
}

type Setting = Awaited<ReturnType<typeof setUp>>;

const opens = async (raw_key: string) => (await resolveBearer(database.db, sha256Hex(raw_key))) !== undefined;

/** What of it still works. */
async function alive({ made }: Setting): Promise<string[]> {
  const [trigger] = await database.db
    .select()
    .from(routine_triggers)
    .where(eq(routine_triggers.id, made.trigger.id));
  const [webhook] = await database.db.select().from(webhooks).where(eq(webhooks.id, made.webhook.id));
  const states = {
    board: await opens(made.board.raw_key),
    key: await opens(made.key.raw_key),
    trigger: trigger!.public_id === made.trigger.public_id,
    webhook: webhook!.enabled,
  };
  return Object.entries(states).flatMap(([name, works]) => (works ? [name] : []));
}

const kindsOf = async ({ eve, company }: Setting) =>
  (await listCredentials(database.db, eve.id, company.id, {})).items.map(({ kind }) => kind).toSorted();

describe('what someone has created', () => {
  it.each<[string, (s: Setting) => Promise<unknown>, string[]]>([
    ['removed', (s) => inTx((tx) => removeMember(tx, s.by_boss, s.company.id, s.eve.id)), []],
    [
      'made a viewer',
      (s) => inTx((tx) => changeMember(tx, s.by_boss, s.company.id, s.eve.id, { role: 'viewer' })),
      [],
    ],
    [
      'made a member, who may still create agents’ keys and triggers',
      (s) => inTx((tx) => changeMember(tx, s.by_boss, s.company.id, s.eve.id, { role: 'member' })),
      ['key', 'trigger'],
    ],
    ['deactivated', (s) => inTx((tx) => deactivateUser(tx, s.by_boss, s.eve.id)), []],
    ['deleted', (s) => inTx((tx) => deleteUser(tx, s.by_boss, s.eve.id)), []],
    [
      'confirmed as an admin',
      (s) => inTx((tx) => changeMember(tx, s.by_boss, s.company.id, s.eve.id, { role: 'admin' })),
      ['board', 'key', 'trigger', 'webhook'],
    ],
  ])('ends when that person is %s', async (_, leave, left) => {
    const s = await setUp();
    expect(await kindsOf(s)).toEqual([
      'agent_key',
      'board_user_key',
      'repository_webhook',
      'routine_trigger',
      'webhook',
    ]);
    expect(await countCredentials(database.db, s.company.id, [s.eve.id, s.boss.id])).toEqual(
      new Map([[s.eve.id, 5]]),
    );
    await leave(s);
    expect(await alive(s)).toEqual(left);
  });

  it('is counted as it is listed: without what is in the trash', async () => {
    const s = await setUp();
    const inTrash = { deleted_at: new Date() };
    for (const table of [schema.routines, schema.projects])
      await database.db.update(table).set(inTrash).where(eq(table.company_id, s.company.id));
    expect(await kindsOf(s)).toEqual(['agent_key', 'board_user_key', 'webhook']);
    expect(await countCredentials(database.db, s.company.id, [s.eve.id])).toEqual(new Map([[s.eve.id, 3]]));
  });

  it('is kept on request: whoever keeps it answers for it, and is next in line', async () => {
    const s = await setUp();
    await inTx((tx) => removeMember(tx, s.by_boss, s.company.id, s.eve.id, { keep_keys: true }));
    expect(await alive(s)).toHaveLength(4);
    expect(await kindsOf(s)).toEqual([]);
    expect((await listCredentials(database.db, s.boss.id, s.company.id, {})).items).toHaveLength(5);
    const log = await database.db
      .select()
      .from(security_events)
      .where(eq(security_events.company_id, s.company.id));
    expect(new Set(log.map(({ kind }) => kind))).toEqual(new Set(['key.kept']));
    const kept = [s.made.board, s.made.key].map(({ raw_key }) => raw_key);
    await inTx((tx) => deactivateUser(tx, actors.system, s.boss.id));
    for (const key of kept) expect(await opens(key)).toBe(false);
  });

  it.each(['in person', 'with a key of one’s own'])('is not kept by whoever leaves, %s', async (how) => {
    const s = await setUp();
    const using: Actor =
      how === 'in person' ? s.by_eve : { ...actors.board(s.company, 'admin'), key_id: s.made.board.id };
    const leave = inTx((tx) => removeMember(tx, using, s.company.id, s.eve.id, { keep_keys: true }));
    await expect(leave).rejects.toMatchObject({ kind: 'forbidden' });
    const step = inTx((tx) =>
      changeMember(tx, using, s.company.id, s.eve.id, { role: 'viewer', keep_keys: true }),
    );
    await expect(step).rejects.toMatchObject({ kind: 'forbidden' });
    await inTx((tx) => removeMember(tx, using, s.company.id, s.eve.id));
    expect(await alive(s)).toEqual([]);
  });

  it('is named where it ended: in the company’s activity and in the security log', async () => {
    const s = await setUp();
    await inTx((tx) => removeMember(tx, s.by_boss, s.company.id, s.eve.id));
    const ended = await database.db
      .select()
      .from(activity)
      .where(and(eq(activity.company_id, s.company.id), eq(activity.action, 'board_user_key.ended')));
    expect(ended).toMatchObject([
      { entity_id: s.made.board.id, details: { label: 'CI', user_id: s.eve.id } },
    ]);
    const log = await database.db
      .select()
      .from(security_events)
      .where(and(eq(security_events.company_id, s.company.id), eq(security_events.kind, 'key.ended')));
    expect(log).toHaveLength(5);
    expect(log.every(({ user_id }) => user_id === s.eve.id)).toBe(true);
  });

  it('includes what was created with a key of that person, however many keys later', async () => {
    const s = await setUp();
    const using = { ...actors.board(s.company, 'admin'), key_id: s.made.board.id };
    const second = await inTx((tx) => mintBoardUserKey(tx, using, s.company.id, { role: 'admin' }));
    const third = await inTx((tx) =>
      createAgentKey(tx, { ...using, key_id: second.id }, s.company.id, { agent_id: s.agent.id }),
    );
    const acting = { ...actors.agent(s.agent), key_id: third.id };
    const hire = await inTx((tx) =>
      createAgent(tx, acting, s.company.id, { name: 'Hand' }, { first_key: true }),
    );
    if (!('api_key' in hire)) throw new Error('a hire by an agent has a first key');
    const { token } = await inTx((tx) => createInvite(tx, using, s.company.id, { role: 'admin' }));
    await inTx((tx) => removeMember(tx, s.by_boss, s.company.id, s.eve.id));
    for (const key of [second.raw_key, third.raw_key, hire.api_key!]) expect(await opens(key)).toBe(false);
    const returning = inTx((tx) => acceptInvite(tx, actors.user(s.eve), token!));
    await expect(returning).rejects.toMatchObject({ kind: 'not_found' });
  });

  it('does not concern other companies, other people, or an instance admin, who has every right anyway', async () => {
    const [s, other] = [await setUp({ instance_role: 'admin' }), await setUp()];
    await inTx((tx) => removeMember(tx, s.by_boss, s.company.id, s.eve.id));
    expect(await alive(s)).toHaveLength(4);
    await inTx((tx) => changeInstanceRole(tx, s.by_boss, s.eve.id, { role: 'member' }));
    expect(await alive(s)).toEqual([]);
    expect(await alive(other)).toHaveLength(4);
  });

  it('includes workers whose key an instance admin was shown; whoever enables one again answers for it', async () => {
    const s = await setUp({ instance_role: 'admin' });
    const { worker_id } = await inTx((tx) => createWorker(tx, s.by_eve, { name: 'forge' }));
    const state = async () =>
      (
        await database.db
          .select()
          .from(workers)
          .where(inArray(workers.id, [worker_id]))
      )[0]!;
    await inTx((tx) => changeInstanceRole(tx, s.by_boss, s.eve.id, { role: 'member' }));
    expect(await state()).toMatchObject({ status: 'disabled' });
    await inTx((tx) => moveWorker(tx, s.by_boss, worker_id, 'enable'));
    expect(await state()).toMatchObject({ status: 'approved', created_by_user_id: s.boss.id });
  });

  it('passes to whoever renews it: a rotated secret, a webhook’s new URL', async () => {
    const s = await setUp();
    await inTx(async (tx) => {
      const trigger = (await findRoutineTrigger(tx, s.made.trigger.id))!;
      await rotateSecret(tx, s.by_boss, trigger, vault);
      const [webhook] = await tx.select().from(webhooks).where(eq(webhooks.id, s.made.webhook.id));
      await updateWebhook(tx, s.by_boss, webhook!, { url: 'http://hooks.test/y' }, vault, rules);
    });
    await inTx((tx) => removeMember(tx, s.by_boss, s.company.id, s.eve.id));
    expect(await alive(s)).toEqual(['trigger', 'webhook']);
  });

  it('passes to whoever is shown a new address: it ends with that person, not with the one who made the trigger', async () => {
    const s = await setUp();
    const { public_id, id } = await inTx(async (tx) => {
      const routine = await createRoutine(tx, s.by_boss, s.company.id, { name: 'Reports' });
      const made = await createTrigger(tx, s.by_boss, routine, { kind: 'webhook' }, vault);
      return rotateUrl(tx, s.by_eve, (await findRoutineTrigger(tx, made.id))!);
    });
    await inTx((tx) => removeMember(tx, s.by_boss, s.company.id, s.eve.id));
    expect((await findRoutineTrigger(database.db, id))!.public_id).not.toBe(public_id);
  });
});

type Claim = (
  tx: Parameters<typeof findProviderUser>[0],
  user: { id: string; email: string },
) => Promise<unknown>;
const claims: [string, Claim][] = [
  [
    'signs in through a provider',
    (tx, { email }) => {
      const known = { provider: 'oidc', issuer: 'https://o.example', subject: newId() } as const;
      return findProviderUser(tx, { ...known, email, email_verified: true, display_name: null });
    },
  ],
  [
    'sets a password by a mailed link',
    async (tx, { id: user_id, email }) => {
      const token = newId();
      const link = { token_hash: sha256Hex(token), purpose: 'reset_password', user_id, email };
      await tx
        .insert(schema.account_links)
        .values({ ...link, expires_at: sql`now() + interval '1 minute'` } as never);
      const mailing = { vault, mail: true, public_url: 'http://localhost' };
      await completePasswordReset(tx, token, 'new hash', { address: '::1', user_agent: null }, mailing);
    },
  ],
];

describe('what was created with an account whose address nobody had verified', () => {
  it.each(claims)(
    'ends when the owner of the address %s, although the rights are the same',
    async (_, claim) => {
      const s = await setUp({
        email_verified_at: null,
        password_hash: 'of the first',
        instance_role: 'admin',
      });
      const { worker_id } = await inTx((tx) => createWorker(tx, s.by_eve, { name: 'forge' }));
      const { token } = await inTx((tx) => createInvite(tx, s.by_eve, s.company.id, { role: 'admin' }));
      const bot = { name: 'telegram', kind: 'telegram', bot_token: '${secret:BOT_TOKEN}' } as const;
      const channel = await inTx((tx) => createChannel(tx, s.by_boss, s.company.id, bot));
      await database.db.insert(schema.channel_pairing_codes).values({
        channel_id: channel.id,
        user_id: s.eve.id,
        code_hash: newId(),
        expires_at: sql`now() + interval '1 minute'`,
      } as never);
      await inTx((tx) => claim(tx, s.eve));
      expect(await alive(s)).toEqual([]);
      const [worker] = await database.db.select().from(workers).where(eq(workers.id, worker_id));
      expect(worker).toMatchObject({ status: 'disabled' });
      expect(await previewInvite(database.db, token!)).toBeUndefined();
      const codes = schema.channel_pairing_codes;
      expect(await database.db.$count(codes, eq(codes.user_id, s.eve.id))).toBe(0);
      const log = and(eq(security_events.company_id, s.company.id), eq(security_events.kind, 'key.ended'));
      expect(await database.db.$count(security_events, log)).toBe(5);
    },
  );

  it.each(claims)('stays when the owner has verified it before, and later %s', async (_, claim) => {
    const s = await setUp({ password_hash: 'own' });
    await inTx((tx) => claim(tx, s.eve));
    expect(await alive(s)).toHaveLength(4);
  });

  it('includes a key that the former session requests at that very moment', async () => {
    const s = await setUp({ email_verified_at: null });
    await inTx((tx) => openSession(tx, s.eve.id));
    const [session] = await database.db
      .select()
      .from(schema.sessions)
      .where(eq(schema.sessions.user_id, s.eve.id));
    await inTx((tx) => claims[0]![1](tx, s.eve));
    const former: Actor = { ...actors.user(s.eve, { [s.company.id]: 'admin' }), session_id: session!.id };
    const minting = inTx((tx) => mintBoardUserKey(tx, former, s.company.id, { role: 'admin' }));
    await expect(minting).rejects.toMatchObject({ kind: 'unauthenticated' });
  });
});

describe('a key that is minted at the very moment its creator is removed', () => {
  it.each(['in person', 'with a key'])('does not survive, %s', async (how) => {
    const s = await setUp();
    const using: Actor =
      how === 'in person' ? s.by_eve : { ...actors.board(s.company, 'admin'), key_id: s.made.board.id };
    let minted: string | undefined;
    const removed = { done: false };
    const outcome = await inTx(async (tx) => {
      await removeMember(tx, s.by_boss, s.company.id, s.eve.id);
      // Begun before the removal commits, by a request that was let in with the old rights.
      const minting = inTx((own) => mintBoardUserKey(own, using, s.company.id, { role: 'admin' })).then(
        ({ raw_key }) => (minted = raw_key),
        (error: unknown) => error,
      );
      await kit.waitFor(async () => (await kit.waitingForLocks(database)) > 0);
      removed.done = true;
      return { minting };
    });
    expect(removed.done).toBe(true);
    expect(await outcome.minting).toMatchObject({
      kind: how === 'in person' ? 'forbidden' : 'unauthenticated',
    });
    expect(minted).toBeUndefined();
    const left = { board: board_user_keys, agents: agent_api_keys };
    for (const table of Object.values(left))
      expect(await database.db.$count(table, eq(table.created_by_user_id, s.eve.id))).toBe(0);
    expect(await database.db.$count(memberships, eq(memberships.user_id, s.eve.id))).toBe(0);
  });
});
