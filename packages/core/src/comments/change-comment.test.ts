import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, transaction, type Tx } from '@acp/db';
import {
  actors,
  createAgent,
  createCompany,
  createIssue,
  createUser,
  databaseWithQueue,
  pendingWakeups,
  nextInstant,
} from '@acp/testkit';
import {
  createComment,
  deleteComment,
  findComment,
  listComments,
  listVersions,
  react,
  updateComment,
} from './index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function stage() {
  const company = await createCompany(database.db);
  const ada = await createAgent(database.db, company, { name: 'Ada' });
  const issue = await createIssue(database.db, company, { title: 'Talk' });
  const person = async (role: 'member' | 'admin') =>
    actors.user(await createUser(database.db), { [company.id]: role });
  const [author, other, admin] = [await person('member'), await person('member'), await person('admin')];
  const write = async <T>(work: (tx: Tx) => Promise<T>) => transaction(database, work);
  const said = async (text: string) =>
    write(async (tx) => createComment(tx, author, issue, { body_markdown: text }));
  return { company, ada, issue, author, other, admin, agent: actors.agent(ada), write, said };
}

describe('a comment', () => {
  it('is edited by its author, keeps what it said, and wakes nobody', async () => {
    const s = await stage();
    const { id } = await s.said('first');
    const edit = async (body_markdown: string) =>
      s.write(async (tx) => updateComment(tx, s.author, s.issue, id, { body_markdown }));
    expect(await edit('second, @Ada')).toMatchObject({
      body_markdown: 'second, @Ada',
      edited_at: expect.any(Date),
    });
    await nextInstant();
    await edit('third');
    await edit('third');
    const { items } = await listVersions(database.db, s.issue, id, {});
    expect(items.map(({ body_markdown }) => body_markdown)).toEqual(['second, @Ada', 'first']);
    expect(items[0]!.replaced_by_name).toBe(s.author.name);
    expect(await pendingWakeups(database.db, s.ada.id)).toEqual([]);
  });

  it('keeps its last fifty versions', async () => {
    const s = await stage();
    const { id } = await s.said('0');
    await s.write(async (tx) => {
      for (let turn = 1; turn <= 53; turn += 1)
        await updateComment(tx, s.author, s.issue, id, { body_markdown: String(turn) });
    });
    expect((await listVersions(database.db, s.issue, id, {})).items).toHaveLength(50);
  });

  it('is changed and deleted by nobody else but an admin; an agent changes its own alone', async () => {
    const s = await stage();
    const { id } = await s.said('mine');
    const text = { body_markdown: 'yours' };
    for (const actor of [s.other, s.agent]) {
      const edit = s.write(async (tx) => updateComment(tx, actor, s.issue, id, text));
      await expect(edit).rejects.toMatchObject({ kind: 'forbidden' });
      const removal = s.write(async (tx) => deleteComment(tx, actor, s.issue, id));
      await expect(removal).rejects.toMatchObject({ kind: 'forbidden' });
    }
    const own = await s.write(async (tx) => createComment(tx, s.agent, s.issue, { body_markdown: 'agent' }));
    await s.write(async (tx) => updateComment(tx, s.agent, s.issue, own.id, text));
    await s.write(async (tx) => deleteComment(tx, s.admin, s.issue, id));
    const left = await listComments(database.db, s.issue, {});
    expect(left.items.map(({ body_markdown }) => body_markdown)).toEqual(['yours']);
  });

  it('of another issue is not there', async () => {
    const [s, elsewhere] = [await stage(), await stage()];
    const { id } = await s.said('here');
    const edit = s.write(async (tx) =>
      updateComment(tx, s.author, elsewhere.issue, id, { body_markdown: 'x' }),
    );
    await expect(edit).rejects.toMatchObject({ kind: 'not_found' });
  });

  it('gathers reactions, one of a kind from each', async () => {
    const s = await stage();
    const { id: comment_id } = await s.said('nice');
    const nod = async (actor: typeof s.author, reaction: 'heart' | 'eyes', on = true) =>
      s.write(async (tx) => react(tx, actor, s.issue, { comment_id, reaction, on }));
    await nod(s.author, 'heart');
    await nod(s.author, 'heart');
    await nextInstant();
    await nod(s.other, 'heart');
    await nod(s.other, 'eyes');
    const shown = (await nod(s.other, 'eyes', false)).reactions;
    expect(shown).toEqual([{ reaction: 'heart', actor_ids: [s.author.user_id, s.other.user_id] }]);
    expect((await listComments(database.db, s.issue, {})).items[0]!.reactions).toEqual(shown);
    expect((await findComment(database.db, s.issue, comment_id)).reactions).toEqual(shown);
  });
});
