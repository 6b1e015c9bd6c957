import { beforeAll, describe, expect, it } from '@jest/globals';
import type { UpdateProject } from '@acp/contract';
import { type Database, transaction } from '@acp/db';
import { actors, createAgent, createCompany, databaseWithQueue } from '@acp/testkit';
import { branchName, createProject, findProject, updateProject } from './index.ts';
import { isBranchName } from './repository-rules.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function setUp(input: Partial<UpdateProject> = {}) {
  const company = await createCompany(database.db);
  const admin = actors.board(company, 'admin');
  const member = actors.board(company, 'member');
  const agent = actors.agent(await createAgent(database.db, company));
  const { id } = await transaction(database, async (tx) =>
    createProject(tx, admin, company.id, { name: 'P', ...input }),
  );
  const update = async (actor: typeof admin | typeof agent, body: UpdateProject) =>
    transaction(database, async (tx) => updateProject(tx, actor, (await findProject(tx, id))!, body));
  return { admin, member, agent, update };
}

const repo_url = 'https://git.example.com/harbour/shop.git';

describe('the repository of a project', () => {
  it('is named by members; what hands out secrets or runs commands is set by admins', async () => {
    const { admin, member, agent, update } = await setUp();
    expect(await update(member, { repo_url, base_branch: 'main' })).toMatchObject({ repo_url });
    const rights: UpdateProject[] = [
      { repo_secret: 'GIT_TOKEN' },
      { setup_command: 'npm ci' },
      { check_command: 'npm test' },
      { env: { A: '${secret:A}' } },
      { push_after_run: true },
    ];
    for (const body of rights) {
      await expect(update(member, body)).rejects.toMatchObject({ kind: 'forbidden' });
      await expect(update(agent, body)).rejects.toMatchObject({ kind: 'forbidden' });
      expect(await update(admin, body)).toMatchObject(body);
    }
    // Unchanged values are no one's choice.
    expect(await update(member, { setup_command: 'npm ci', env: { A: '${secret:A}' } })).toMatchObject({
      push_after_run: true,
    });
  });

  it.each<UpdateProject>([{ repo_secret: 'GIT_TOKEN' }, { env: { TOKEN: '${secret:TOKEN}' } }])(
    'with %j is moved by admins alone: else the secret would go where a member says',
    async (has) => {
      const { admin, member, update } = await setUp({ repo_url, ...has });
      const elsewhere = { repo_url: 'https://evil.example.com/shop.git' };
      await expect(update(member, elsewhere)).rejects.toMatchObject({ kind: 'forbidden' });
      expect(await update(admin, elsewhere)).toMatchObject(elsewhere);
    },
  );

  it.each<UpdateProject>([
    { repo_url: 'file:///etc' },
    { repo_url: 'ext::sh' },
    { repo_url: 'https://user:word@git.example.com/x.git' },
    { base_branch: 'a..b' },
    { base_branch: 'a.lock' },
    { branch_template: 'main' },
    { branch_template: '-{identifier}' },
  ])('%j is refused', async (body) => {
    const { admin, update } = await setUp();
    await expect(update(admin, body)).rejects.toMatchObject({ kind: 'invalid' });
  });
});

describe('the name of a branch', () => {
  it.each([
    [null, 'Fix the éclair’s price!', 'ABC-7-fix-the-eclair-s-price'],
    [null, '漢字', 'ABC-7'],
    ['agents/{identifier}', 'x', 'agents/ABC-7'],
    ['{slug}/{identifier}', '', 'ABC-7'],
  ])('of the template %s and the title %s is %s', (template, title, name) => {
    expect(branchName(template, { identifier: 'ABC-7', title })).toBe(name);
    expect(isBranchName(name)).toBe(true);
  });
});
