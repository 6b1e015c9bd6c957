import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, transaction } from '@acp/db';
import { Vault } from '@acp/kernel';
import { actors, createCompany, createUser, databaseWithQueue, waitFor } from '@acp/testkit';
import { systemActor } from '../activity/index.ts';
import { claimMessages } from '../messages/index.ts';
import { inviteByMail } from './invite-by-mail.ts';
import { acceptInvite, createInvite, listInvites, revokeInvite } from './invites.ts';

const vault = new Vault(Buffer.alloc(32, 7));
const mailing = { vault, mail: true, public_url: 'https://plane.example.com' };

const director = systemActor('tests');

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function invite(company_id: string, more: Partial<typeof mailing> = {}) {
  const admin = actors.user(await createUser(database.db, { instance_role: 'admin' }), {
    [company_id]: 'admin',
  });
  const input = { role: 'member', email: 'you@example.com' } as const;
  return transaction(database, async (tx) =>
    inviteByMail(tx, admin, company_id, input, { ...mailing, ...more }),
  );
}
const pending = async () =>
  (await database.pool.query(`select * from outgoing_messages where status = 'pending'`)).rows as object[];

describe('an invite by mail', () => {
  it('brings a link that works to one address, and lies nowhere in clear until then', async () => {
    const company = await createCompany(database.db, { name: 'Harbour\nWorks' });
    const { token } = await invite(company.id);
    expect(JSON.stringify(await pending())).not.toContain(token);
    const [mail] = await transaction(database, async (tx) => claimMessages(tx, vault, 10, 60));
    expect(mail).toMatchObject({ recipient: 'you@example.com', subject: 'Invitation to Harbour Works' });
    const link = /https:\/\/plane\.example\.com\/invites\/(\S+)/.exec(mail!.body)![1]!;
    const newcomer = actors.user(await createUser(database.db));
    const membership = await transaction(database, async (tx) => acceptInvite(tx, newcomer, link));
    expect(membership).toMatchObject({ company_id: company.id, role: 'member' });
  });

  it('is refused without a mail server or a key, and leaves nothing behind', async () => {
    const company = await createCompany(database.db);
    await expect(invite(company.id, { mail: false })).rejects.toMatchObject({ kind: 'conflict' });
    await expect(invite(company.id, { vault: new Vault(null) })).rejects.toMatchObject({
      kind: 'unavailable',
    });
    expect((await listInvites(database.db, company.id, {}, null)).items).toEqual([]);
  });

  it('is refused after a hundred in a day, even if all of them were revoked at once', async () => {
    const company = await createCompany(database.db);
    await transaction(database, async (tx) => {
      for (let n = 0; n < 100; n += 1) {
        const { id } = await createInvite(tx, director, company.id, { role: 'viewer' });
        await revokeInvite(tx, director, company.id, id);
      }
    });
    await expect(invite(company.id)).rejects.toMatchObject({ kind: 'rate_limited' });
  });

  it('is refused, too, to one that comes while the last is on its way', async () => {
    const company = await createCompany(database.db);
    await transaction(database, async (tx) => {
      for (let n = 0; n < 99; n += 1) await createInvite(tx, director, company.id, { role: 'viewer' });
    });
    const [last, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const first = transaction(database, async (tx) => {
      await inviteByMail(tx, director, company.id, { role: 'viewer', email: 'a@example.com' }, mailing);
      last.resolve();
      await end.promise;
    });
    await last.promise;
    let settled = false;
    const second = invite(company.id).finally(() => (settled = true));
    const waits = async () =>
      (await database.pool.query('select from pg_locks where not granted')).rowCount !== 0;
    await waitFor(async () => settled || (await waits()));
    end.resolve();
    await first;
    await expect(second).rejects.toMatchObject({ kind: 'rate_limited' });
  });
});
