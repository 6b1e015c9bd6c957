import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createNote, createSkill, promptFacts } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import { LocalStorage } from '@acp/storage';
import { createUser, databaseWithQueue } from '@acp/testkit';
import { createScene, fenced, ok, refused, rowsOf as readRows, type Scene } from './scene.ts';

let database: Database;
let folder: string;
let storage: LocalStorage;
beforeAll(async () => {
  database = await databaseWithQueue();
  folder = await mkdtemp(path.join(tmpdir(), 'acp-verbs-'));
  storage = new LocalStorage(folder);
});
afterAll(async () => rm(folder, { recursive: true }));

const scene = async (options: Parameters<typeof createScene>[1] = {}): Promise<Scene> =>
  createScene(database, options, storage);
const rowsOf = async (query: string, ...values: unknown[]) => readRows(database, query, ...values);

describe('verbs of notes', () => {
  it('write a note for the issue, rewrite, show, list, archive it and bring it back', async () => {
    const set = await scene();
    expect(await set.apply(fenced('/create-note "Opening hours"', 'Nine to five.'))).toEqual(
      ok(expect.stringMatching(/^note Opening hours written \(.{36}\)$/)),
    );
    expect(await set.apply(fenced('/edit_note opening HOURS', 'Ten to four.'))).toEqual(
      ok('note Opening hours rewritten'),
    );
    expect(await set.apply(fenced('/edit-note Opening hours', 'Ten to four.'))).toMatchObject({
      changed: false,
    });
    expect((await set.apply('/get-note Opening hours')).result).toMatch(
      /^note .{36}\n<note title="Opening hours">\nTen to four.\n<\/note>$/,
    );
    expect((await set.apply('/list-notes q=opening kind=NOTE')).result).toMatch(
      /^.{36} \[note\] Opening hours$/,
    );
    expect(await set.apply('/archive-note Opening hours')).toEqual(ok('note Opening hours is archived'));
    expect(await set.apply('/archive-note Opening hours')).toMatchObject({ ok: true, changed: false });
    expect(await set.apply('/list-notes')).toEqual(ok('no notes', false));
    expect(await set.apply('/unarchive-note Opening hours')).toMatchObject({ changed: true });
    expect(
      await rowsOf(
        'select kind, issue_id, created_by_agent_id, archived_at from notes where company_id = $1',
        set.company.id,
      ),
    ).toEqual([{ kind: 'note', issue_id: set.own.id, created_by_agent_id: set.ada.id, archived_at: null }]);
  });

  it('record a finding', async () => {
    const set = await scene();
    await set.apply(fenced('/record-finding Mondays are quiet', 'Three orders a day.'));
    expect(
      await rowsOf('select kind, title, body_markdown from notes where company_id = $1', set.company.id),
    ).toEqual([{ kind: 'finding', title: 'Mondays are quiet', body_markdown: 'Three orders a day.' }]);
  });

  it('see nothing of another company, and tell what is wrong', async () => {
    const set = await scene();
    const theirs = await scene();
    const note = await transaction(database, async (tx) =>
      createNote(tx, theirs.run.actor, theirs.company.id, { title: 'Secret' }),
    );
    expect(await set.apply(`/get-note ${note.id}`)).toEqual(refused(`there is no note "${note.id}"`));
    expect(await set.apply('/get-note Secret')).toEqual(refused('there is no note "Secret"'));
    expect(await set.apply('/get-note')).toEqual(refused('the title or id of a note is missing'));
    expect(await set.apply('/create-note Without a text')).toEqual(refused('a fenced body is missing'));
    expect(await set.apply('/list-notes kind=poem')).toEqual(refused(expect.stringContaining('kind')));
    expect(await set.apply('/list-notes limit=many')).toEqual(refused(expect.stringContaining('limit')));
  });

  it('of an agent that may not write notes are refused, and reading is not', async () => {
    const set = await scene({ permissions: { 'notes.write': false } });
    for (const line of ['/create-note A', '/record-finding A', '/edit-note A'])
      expect(await set.apply(fenced(line, 'x'))).toEqual(refused('permission notes.write is off'));
    for (const line of ['/archive-note A', '/unarchive-note A'])
      expect(await set.apply(line)).toEqual(refused('permission notes.write is off'));
    expect(await set.apply('/list-notes')).toMatchObject({ ok: true });
  });
});

describe('a skill', () => {
  it('of the agent is shown to it, and told of in its prompt; another’s is not', async () => {
    const set = await scene();
    const { db } = database;
    const skill = { description: 'How we paint', body_markdown: 'Two coats.' };
    const actor = set.run.actor;
    await transaction(database, async (tx) => {
      await createSkill(tx, actor, set.company.id, { ...skill, name: 'Painting', company_wide: true });
      await createSkill(tx, actor, set.company.id, { ...skill, name: 'Plumbing' });
    });
    expect(await set.apply('/use-skill painting')).toEqual(
      ok('<skill name="Painting">\nTwo coats.\n</skill>', false),
    );
    expect(await set.apply('/use-skill plumbing')).toEqual(refused('you have no skill plumbing'));
    expect(await promptFacts(db, set.run)).toMatchObject({
      skills: [{ slug: 'painting', name: 'Painting', description: 'How we paint' }],
    });
  });
});

describe('/update-user-model', () => {
  it('replaces what later prompts tell of the user who asks, also for an issue below the user’s own', async () => {
    const user = await createUser(database.db, { display_name: 'Mary' });
    const set = await scene({ created_by_user_id: user.id });
    expect((await promptFacts(database.db, set.run))!.requester).toEqual({
      name: 'Mary',
      user_model: null,
      private_model: null,
    });
    const told = ok('what is known of Mary is written down');
    expect(await set.apply(fenced('/update-user-model', 'Likes short answers.'))).toEqual(told);
    expect(await set.apply(fenced('/update_user_model', 'Likes numbers.'))).toEqual(told);
    expect(await set.apply(fenced('/update-user-model', 'Likes numbers.'))).toMatchObject({ changed: false });
    await database.pool.query('update issues set parent_issue_id = $1 where id = $2', [
      set.own.id,
      set.other.id,
    ]);
    const below = { ...set.run, issue_id: set.other.id };
    expect((await promptFacts(database.db, below))!.requester).toEqual({
      name: 'Mary',
      user_model: 'Likes numbers.',
      private_model: null,
    });
    expect(await rowsOf(`select action from activity where company_id = $1`, set.company.id)).toEqual([
      { action: 'user_model.updated' },
      { action: 'user_model.updated' },
    ]);
  });

  it('is refused where nobody is known to have asked, and for a text without end', async () => {
    const set = await scene();
    expect(await set.apply(fenced('/update-user-model', 'x'))).toEqual(
      refused('no user is known to have requested this'),
    );
    expect(await set.apply(fenced('/update-user-model', 'x'.repeat(8001)))).toEqual(
      refused('the text is longer than 8000 characters'),
    );
  });
});

describe('deliverables', () => {
  it('are reports among the work products of the issue', async () => {
    const set = await scene();
    expect(await set.apply(fenced('/write-report What we sold', '| a | b |'))).toEqual(
      ok(`${set.own.identifier}: report What we sold added`),
    );
    expect(
      await rowsOf(
        'select type, title, summary, created_by_run_id from work_products where issue_id = $1',
        set.own.id,
      ),
    ).toEqual([
      { type: 'report', title: 'What we sold', summary: '| a | b |', created_by_run_id: set.run.run_id },
    ]);
  });

  it('are files among its attachments; of a program also among the agent’s own', async () => {
    const set = await scene({ adapter_type: 'cli_a_local' });
    expect(await set.apply(fenced('/write-file plans/shed.md', '# Shed'))).toEqual(
      ok(`${set.own.identifier}: plans/shed.md attached`),
    );
    const [attachment] = await rowsOf(
      'select filename, content_type, size_bytes, storage_key from attachments where issue_id = $1',
      set.own.id,
    );
    expect(attachment).toMatchObject({ filename: 'shed.md', content_type: 'text/markdown', size_bytes: '7' });
    const [own] = await rowsOf('select path, storage_key from agent_files where agent_id = $1', set.ada.id);
    expect(own).toMatchObject({ path: 'plans/shed.md' });
    for (const { storage_key } of [attachment!, own!]) {
      const chunks = await (await storage.get(String(storage_key)))!.toArray();
      expect(Buffer.concat(chunks as Buffer[]).toString()).toBe('# Shed\n');
    }
  });

  it('of a program in a workspace lie there, and not among the agent’s own', async () => {
    const set = await scene({ adapter_type: 'cli_a_local' });
    const written: Record<string, string> = {};
    const workspace = {
      write: async (at: string, bytes: Uint8Array) => void (written[at] = Buffer.from(bytes).toString()),
    };
    const action = fenced('/write-file plans/shed.md', '# Shed');
    expect(await set.apply(action, workspace)).toEqual(
      ok(`${set.own.identifier}: plans/shed.md attached, and written into the workspace`),
    );
    expect(written).toEqual({ 'plans/shed.md': '# Shed\n' });
    expect(await rowsOf('select path from agent_files where agent_id = $1', set.ada.id)).toEqual([]);
    expect(await set.apply(fenced('/write-file ../x', 'x'), workspace)).toEqual(refused(expect.anything()));
    expect(Object.keys(written)).toEqual(['plans/shed.md']);
  });

  it('that are refused, or come from a run that is lost, leave neither row nor bytes', async () => {
    const set = await scene();
    const stored = async () => {
      let count = 0;
      for await (const object of storage.list('attachments/')) count += object.key === '' ? 0 : 1;
      return count;
    };
    const before = await stored();
    expect(await set.apply(fenced('/write-file ../../etc/passwd', 'x'))).toEqual(
      refused(expect.stringContaining('the path must be relative')),
    );
    expect(await set.apply(fenced('/write-file', 'x'))).toEqual(refused('a path is missing'));
    await database.pool.query('update heartbeat_runs set fence = fence + 1 where id = $1', [set.run.run_id]);
    await expect(set.apply(fenced('/write-file a.txt', 'x'))).rejects.toThrow('run lost');
    expect(await rowsOf('select id from attachments where issue_id = $1', set.own.id)).toEqual([]);
    expect(await stored()).toBe(before);
  });
});
