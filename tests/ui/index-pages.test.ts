/** The page of the compiled index. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema } from '@acp/db';
import { eq } from 'drizzle-orm';
import type { Express } from 'express';
import { type Cast, createCast } from '../http/cast.ts';
import { Browser, startPages } from '../http/pages.ts';

const {
  compiled_citations,
  compiled_indexes,
  compiled_sources,
  compiled_statements,
  knowledge_sources,
  notes,
} = schema;

let app: Express;
let cast: Cast;
let database: Database;

beforeAll(async () => {
  ({ app, database } = await startPages());
  cast = await createCast(database);
});

async function createVersion(version: number, status: string, texts: readonly string[]): Promise<void> {
  const { db } = database;
  const { company_id, agent_id } = cast;
  const [index] = await db
    .insert(compiled_indexes)
    .values({ company_id, agent_id, version, status, promoted_at: new Date(), finished_at: new Date() })
    .returning();
  const [note] = await db
    .insert(notes)
    .values({ company_id, title: `Source <b>of</b> ${version}`, body_markdown: 'x', kind: 'note' })
    .returning();
  const sources = await db.select().from(knowledge_sources);
  const source_key = sources.find(({ source_id }) => source_id === note!.id)!.id;
  for (const [ordinal, text] of texts.entries()) {
    const [made] = await db
      .insert(compiled_statements)
      .values({ index_id: index!.id, ordinal, topic: 'Roses', text })
      .returning();
    await db.insert(compiled_citations).values({ statement_id: made!.id, source_key, state: 'changed' });
  }
}

describe('the compiled index', () => {
  it('tells a company that knows nothing from one all of whose knowledge has been read', async () => {
    const company_id = cast.other_company_id;
    const here = `/companies/${company_id}/knowledge/index`;
    const admin = Browser.of(app, cast.instance_admin);
    const [none, all] = ['There is no knowledge to read yet', 'All knowledge has been read'];
    const said = async () => {
      const { text } = await admin.get(here);
      return [text.includes(none), text.includes(all)];
    };
    expect(await said()).toEqual([true, false]);
    const { db } = database;
    await db.insert(notes).values({ company_id, title: 'Roses', body_markdown: 'x', kind: 'note' });
    const [source] = await db
      .update(knowledge_sources)
      .set({ chunked_revision: 1, chunk_count: 1 })
      .where(eq(knowledge_sources.company_id, company_id))
      .returning();
    expect((await admin.get(here)).text).toContain('New, or changed since it was read: 1 source.');
    await db.insert(compiled_sources).values({ source_key: source!.id, revision: 1 });
    expect(await said()).toEqual([false, true]);
  });

  it('shows a draft beside what agents read, and an admin promotes or discards it there and nowhere else', async () => {
    const here = `/companies/${cast.company_id}/knowledge/index`;
    const [admin, member, viewer] = [cast.admin, cast.member, cast.viewer].map((who) => Browser.of(app, who));
    expect((await viewer!.get(here)).text).toContain('Agents have no index to read yet');
    await createVersion(1, 'promoted', ['They bloom in June.', 'They are <script>alert(1)</script> red.']);
    await createVersion(2, 'draft', ['They bloom in July.', 'They are <script>alert(1)</script> red.']);
    const { text } = await admin!.get(here);
    expect(text).not.toContain('<script>alert');
    for (const part of [
      '<del>- They bloom in June.',
      '<ins>- They bloom in July.',
      'its source has changed',
      'Source &#60;b&#62;of&#60;/b&#62; 2</a>',
      'Promote it',
      'How it is compiled',
    ])
      expect(text).toContain(part);
    expect((await member!.get(here)).text).not.toMatch(/Promote it|How it is compiled|Compile now/);
    expect((await member!.post(`${here}/promote?version=2`, {})).status).toBe(403);
    expect((await Browser.of(app, cast.stranger).get(here)).status).toBe(404);
    const stale = await admin!.post(`${here}/promote?version=1`, {});
    expect([stale.status, stale.text.includes('That version is no longer a draft')]).toEqual([409, true]);
    expect((await admin!.post(`${here}/promote?version=2`, {})).headers.location).toBe(
      `${here}?done=promote`,
    );
    expect((await viewer!.get(here)).text).toContain('Version 2, promoted');
    await createVersion(3, 'draft', []);
    expect((await admin!.post(`${here}/discard?version=3`, {})).headers.location).toBe(
      `${here}?done=discard`,
    );
    const refused = await admin!.post(`${here}/settings`, { agent_id: cast.agent_id, every_hours: '0' });
    expect(refused.text).toMatch(/id="e-every_hours" role="alert">Must be 1 or more/);
    const settings = await admin!.post(`${here}/settings`, { agent_id: cast.agent_id, every_hours: '' });
    expect(settings.headers.location).toBe(`${here}?done=settings`);
    const empty = await admin!.post(`${here}/cancel`, {});
    expect([empty.status, empty.text.includes('no compilation is running')]).toEqual([409, true]);
  });
});
