import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, transaction } from '@acp/db';
import { newId } from '@acp/kernel';
import { actors, createCompany, databaseWithQueue } from '@acp/testkit';
import { issueActivity, listActivity, recordChanges } from './index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function setUp() {
  const company = await createCompany(database.db);
  const actor = actors.board(company);
  const record = async (entity_type: string, entity_id: string, action: string) =>
    transaction(database, async (tx) =>
      recordChanges(tx, actor, [{ company_id: company.id, action, entity_type, entity_id }]),
    );
  return { company, actor, record };
}

describe('activity', () => {
  it('is listed newest first with who did it, by kind of thing and by thing, page by page', async () => {
    const { company, actor, record } = await setUp();
    const [issue, note] = [newId(), newId()];
    await record('issue', issue, 'issue.created');
    await record('note', note, 'note.created');
    await record('issue', issue, 'issue.updated');
    // Entries within the same millisecond have no defined order.
    for (const [seconds, action] of ['issue.updated', 'note.created', 'issue.created'].entries())
      await database.pool.query(
        `update activity set created_at = created_at - make_interval(secs => $1) where company_id = $2 and action = $3`,
        [seconds, company.id, action],
      );
    const list = async (query: Parameters<typeof listActivity>[2]) => {
      const page = await listActivity(database.db, company.id, query);
      return { actions: page.items.map(({ action }) => action), next: page.next_cursor ?? undefined };
    };
    expect((await list({})).actions).toEqual(['issue.updated', 'note.created', 'issue.created']);
    expect((await list({ entity_type: 'note' })).actions).toEqual(['note.created']);
    expect((await list({ entity_id: issue })).actions).toEqual(['issue.updated', 'issue.created']);
    const first = await list({ limit: 2 });
    expect((await list({ limit: 2, cursor: first.next })).actions).toEqual(['issue.created']);
    const made = { id: issue, company_id: company.id, created_at: new Date(Date.now() - 10_000) };
    const { items } = await issueActivity(database.db, made, { limit: 1 });
    expect(items).toEqual([
      {
        id: expect.any(String),
        company_id: company.id,
        actor_type: 'board_user',
        actor_id: actor.key_id,
        actor_name: 'integration',
        action: 'issue.updated',
        entity_type: 'issue',
        entity_id: issue,
        details: {},
        created_at: expect.any(Date),
      },
    ]);
    const later = { ...made, created_at: new Date(Date.now() + 2 * 86_400_000) };
    expect((await issueActivity(database.db, later, {})).items).toEqual([]);
  });

  it('of another company is not seen', async () => {
    const [one, other] = [await setUp(), await setUp()];
    const id = newId();
    await one.record('issue', id, 'issue.created');
    expect((await listActivity(database.db, other.company.id, { entity_id: id })).items).toEqual([]);
  });

  it('and events have no text of more than 8 KB, however long the one they are about is', async () => {
    const { company, actor } = await setUp();
    const long = '€'.repeat(300_000);
    const change = {
      company_id: company.id,
      entity_type: 'webhook',
      entity_id: newId(),
      action: 'webhook.switched_off',
      details: { reasons: [long, 'short'] },
      event: {
        type: 'notification' as const,
        data: {
          topic: 'x',
          level: 'info' as const,
          message: long,
          entity_type: 'webhook',
          entity_id: newId(),
        },
      },
    };
    for (const changes of [[change], [change, change]])
      await transaction(database, async (tx) => recordChanges(tx, actor, changes));
    const { items } = await listActivity(database.db, company.id, {});
    const cut = '€'.repeat(2730);
    expect(items.map(({ details }) => details)).toEqual(
      Array.from({ length: 3 }, () => ({ reasons: [cut, 'short'] })),
    );
    const { rows: sent } = await database.pool.query<{ data: { message: string } }>(
      'select data from outbox where company_id = $1 union all select data from events where company_id = $1',
      [company.id],
    );
    expect(sent.map(({ data }) => data.message)).toEqual([cut, cut, cut]);
  });
});
