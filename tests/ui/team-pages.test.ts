/** Pages of agents who work together: councils, and the trees of sub-agents. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import {
  createAgent,
  createIssue,
  createSkill,
  findAgent,
  findCouncil,
  findIssue,
  settleSubagents,
  skillOf,
  spawnSubagent,
  systemActor,
} from '@acp/core';
import { type Database, schema, transaction } from '@acp/db';
import { actors, createKeyOf } from '@acp/testkit';
import { and, eq, sql } from 'drizzle-orm';
import type { Express } from 'express';
import request from 'supertest';
import { type Cast, createCast } from '../http/cast.ts';
import { Browser, startPages } from '../http/pages.ts';

let app: Express;
let cast: Cast;
let database: Database;

const director = systemActor('tests');

beforeAll(async () => {
  ({ app, database } = await startPages());
  cast = await createCast(database);
});
async function hire(name: string): Promise<{ id: string; name: string }> {
  const made = await transaction(database, async (tx) =>
    createAgent(tx, director, cast.company_id, { name }),
  );
  return 'agent' in made ? made.agent : made;
}

/** A key that no process has seen yet. */
async function freshKey(): Promise<{ authorization: string }> {
  const { raw_key } = await createKeyOf(database.db, { id: cast.agent_id, company_id: cast.company_id });
  return { authorization: `Bearer ${raw_key}` };
}

const file = async (title: string, assignee_agent_id?: string) =>
  transaction(database, async (tx) =>
    createIssue(tx, director, cast.company_id, { title, ...(assignee_agent_id && { assignee_agent_id }) }),
  );

describe('a council', () => {
  it('is convened by a form, shown while it deliberates, and ended by a member', async () => {
    const [ada, bob] = [await hire('Ada'), await hire('Bob')];
    const issue = await file('Mend or rewrite');
    const member = Browser.of(app, cast.member);
    const viewer = Browser.of(app, cast.viewer);
    const here = `/issues/${issue.id}`;
    expect((await member.get(here)).text).toContain('Convene a council');
    expect((await viewer.get(here)).text).not.toContain('Convene a council');
    const wrong = await member.post(`${here}/convene-council`, { rounds: '9' });
    expect([wrong.status, wrong.text.includes('rounds')]).toEqual([400, true]);
    const form = { question: '**Mend** it?', rounds: '1', agent_ids: [ada.id, bob.id] };
    const made = await member.post(`${here}/convene-council`, form);
    expect(made.headers.location).toMatch(/^\/councils\//);
    const council = made.headers.location!;
    const { text } = await member.get(council);
    for (const part of ['<strong>Mend</strong> it?', 'Round 1', 'thinks …', 'round 1 of at most 1', 'End it'])
      expect(text).toContain(part);
    expect((await viewer.get(council)).text).not.toContain('End it');
    expect((await viewer.get(`${council}/part/rounds`)).text).toContain('thinks …');
    const again = await member.post(`${here}/convene-council`, form);
    expect([again.status, again.text.includes('council already running')]).toEqual([409, true]);
    expect((await Browser.of(app, cast.stranger).get(council)).status).toBe(404);
    expect((await member.post(`${council}/cancel`)).headers.location).toBe(council);
    expect((await member.get(council)).text).toContain('cancelled by');
  });

  it('is refused by the API with agents of others, without the right, without sense, and while one is running', async () => {
    const [ada, bob] = [await hire('Ada'), await hire('Bob')];
    const issue = await file('By the API');
    const path = `/api/issues/${issue.id}/convene-council`;
    const member = Browser.of(app, cast.member);
    const foreign = await member.api('post', path, { agent_ids: [ada.id, cast.other_agent_id] });
    expect([foreign.status, foreign.body]).toEqual([404, { error: 'there is no such agent' }]);
    for (const body of [{ agent_ids: [ada.id] }, { rounds: 6 }, { question: ' ' }, { agent_ids: ['x', 'y'] }])
      expect((await member.api('post', path, body)).status).toBe(400);
    const withheld = async (value: boolean) =>
      database.db
        .update(schema.agents)
        .set({ permissions: { 'issues.update': value } })
        .where(eq(schema.agents.id, cast.agent_id));
    await withheld(false);
    const bound = await request(app)
      .post(path)
      .set(await freshKey())
      .send({});
    await withheld(true);
    expect([bound.status, bound.body]).toEqual([403, { error: 'permission withheld: issues.update' }]);
    const made = await member.api('post', path, { agent_ids: [ada.id, bob.id] });
    const again = await member.api('post', path, {});
    expect([made.status, again.status, again.body]).toEqual([
      201,
      409,
      { error: 'council already running', session_id: made.body.id },
    ]);
    expect(made.body.turns).toEqual([]);
    const { body: listed } = await Browser.of(app, cast.viewer).api(
      'get',
      `/api/issues/${issue.id}/council-sessions`,
    );
    expect(listed).toMatchObject([{ id: made.body.id, status: 'running', phase: 'answer', round: 1 }]);
  });

  it('shows its rounds side by side, who keeps an answer, the votes, and the conclusion; no text becomes markup', async () => {
    const [ada, bob, cleo] = [await hire('Ada'), await hire('Bob'), await hire('Cleo')];
    const issue = await file('The quay');
    const member = Browser.of(app, cast.member);
    const made = await member.post(`/issues/${issue.id}/convene-council`, {
      rounds: '2',
      agent_ids: [ada.id, bob.id, cleo.id],
    });
    const here = made.headers.location!;
    const session = (await findCouncil(database.db, here.split('/').at(-1)!))!;
    const [asked] = await database.db
      .select()
      .from(schema.council_turns)
      .where(and(eq(schema.council_turns.agent_id, bob.id), eq(schema.council_turns.round, 1)));
    expect((await member.get(here)).text).toMatch(
      new RegExp(`aria-label="Bob".*href="/runs/${asked!.run_id}".*thinks …`, 's'),
    );
    const { council_participants, council_sessions, council_turns } = schema;
    const become = async (set: object) =>
      database.db.update(council_sessions).set(set).where(eq(council_sessions.id, session.id));
    await become({ phase: 'conclusion' });
    expect((await member.get(here)).text).toMatch(
      new RegExp(`<h2>Conclusion</h2>.*aria-label="Bob".*href="/runs/${asked!.run_id}".*thinks …`, 's'),
    );
    const say = async (agent: { id: string }, kind: string, round: number, set: object) =>
      database.db
        .update(council_turns)
        .set({ status: 'done', finished_at: new Date(), ...set })
        .where(
          and(
            eq(council_turns.session_id, session.id),
            eq(council_turns.agent_id, agent.id),
            eq(council_turns.kind, kind),
            eq(council_turns.round, round),
          ),
        );
    await say(ada, 'answer', 1, { body_markdown: '<script>alert(1)</script> Build **now**' });
    await say(bob, 'answer', 1, { body_markdown: 'Wait' });
    await say(bob, 'answer', 2, { body_markdown: 'Wait', is_revised: false });
    await say(ada, 'ranking', 3, { body_markdown: 'RANKING: A > B', ranking: [bob.id, cleo.id] });
    await database.db
      .update(council_participants)
      .set({ left_out_reason: 'agent is paused' })
      .where(eq(council_participants.agent_id, cleo.id));
    await become({ status: 'completed', conclusion: 'We wait.\n\n## Dissent\nAda would build.' });
    const { text } = await member.get(here);
    expect(text).not.toContain('<script>alert');
    for (const part of [
      'Build <strong>now</strong>',
      'Round 1',
      'Round 2',
      'keeps the answer',
      'Ranking',
      'Conclusion',
    ])
      expect(text).toContain(part);
    expect(text).toContain('Bob, then');
    expect(text).toContain('left out: agent is paused');
    expect((await member.get(`/issues/${issue.id}`)).text).toContain(`href="${here}"`);
  });
});

describe('sub-agents', () => {
  it('stand as a tree on the pages of issue and agent, with what came of them, and in no list of those that work', async () => {
    const { id } = await hire('Lead');
    const issue = await file('Split it', id);
    const lead = (await findAgent(database.db, id))!;
    const skill = await transaction(database, async (tx) =>
      createSkill(tx, director, cast.company_id, {
        slug: 'tidy',
        name: 'Tidy',
        description: 'How to sweep.',
        body_markdown: 'Sweep.',
      }),
    );
    await database.db.execute(sql`insert into agent_skills (agent_id, skill_id) values (${id}, ${skill.id})`);
    const spawn = async (title: string) =>
      transaction(database, async (tx) =>
        spawnSubagent(tx, actors.agent(lead), (await findIssue(tx, issue.id))!, {
          role: 'researcher',
          title,
          instructions: 'Look.',
        }),
      );
    await spawn('First half');
    const { issue: second } = await spawn('Second half');
    await database.db.execute(sql`update issues set status = 'done' where id = ${second.id}`);
    await transaction(database, async (tx) => settleSubagents(tx, lead.id));
    const viewer = Browser.of(app, cast.viewer);
    for (const page of [`/issues/${issue.id}`, `/agents/${lead.id}`, `/issues/${issue.id}/part/subagents`]) {
      const { text } = await viewer.get(page);
      for (const part of ['Sub-agents', 'Lead / researcher 1', 'First half', 'Lead / researcher 2'])
        expect(text).toContain(part);
      expect(text).toMatch(/data-status="done"/);
    }
    const living = (await viewer.get(`/companies/${cast.company_id}/agents`)).text;
    expect(living).toContain('Lead / researcher 1');
    expect(living).not.toContain('Lead / researcher 2');
    for (const form of ['issues/new', 'projects', 'goals', 'routines/new']) {
      const offered = (await Browser.of(app, cast.member).get(`/companies/${cast.company_id}/${form}`)).text;
      expect(offered).toContain('Lead / researcher 1');
      expect(offered).not.toContain('Lead / researcher 2');
    }
    // Whatever is in the trash keeps its place in the tree, and has no page to lead to.
    const link = (text: string) => text.includes(`href="/issues/${second.id}"`);
    expect(link((await viewer.get(`/issues/${issue.id}`)).text)).toBe(true);
    await database.db.execute(sql`update issues set deleted_at = now() where id = ${second.id}`);
    await database.db.execute(sql`update agents set deleted_at = now() where name = 'Lead / researcher 2'
      and company_id = ${cast.company_id}`);
    for (const page of [`/issues/${issue.id}`, `/agents/${lead.id}`]) {
      const { text } = await viewer.get(page);
      expect(text).toContain('Lead / researcher 2');
      expect(text).toMatch(new RegExp(`${second.identifier}</span> in the trash`));
      expect(text).not.toContain('Second half');
      expect([link(text), /<a [^>]*>Lead \/ researcher 2/.test(text)]).toEqual([false, false]);
    }
    // Sub-agents get the skills attached to the agent that spawned them.
    const { rows } = await database.db.execute<{ id: string }>(
      sql`select id from agents where parent_agent_id = ${lead.id}`,
    );
    for (const child of rows) expect((await skillOf(database.db, child.id, 'tidy'))?.source).toBe('agent');
  });
});
