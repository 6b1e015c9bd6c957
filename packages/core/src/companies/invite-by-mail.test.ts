import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, transaction } from '@acp/db';
import { Vault } from '@acp/kernel';
import { actors, createCompany, createUser, databaseWithQueue } from '@acp/testkit';
import { claimMessages } from '../messages/index.ts';
import { inviteByMail } from './invite-by-mail.ts';
import { acceptInvite, listInvites } from './invites.ts';

const vault = new Vault(Buffer.alloc(32, 7));
const mailing = { vault, mail: true, public_url: 'https://plane.example.com' };

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

  it('is refused after a hundred in a day', async () => {
    const company = await createCompany(database.db);
    await database.pool.query(
      `insert into invites (company_id, role, token_hash, expires_at)
       select $1, 'viewer', 'hash ' || n, now() from generate_series(1, 100) n`,
      [company.id],
    );
    await expect(invite(company.id)).rejects.toMatchObject({ kind: 'rate_limited' });
  });
});
