import { beforeAll, describe, expect, it } from '@jest/globals';
import { toolTable } from '@acp/contract';
import { createNote, readYaml, type ToolCall, ToolRegistry } from '@acp/core';
import { type Database, transaction, type Tx } from '@acp/db';
import { newId, ServiceError } from '@acp/kernel';
import { actors, databaseWithQueue, testLogger } from '@acp/testkit';
import * as fc from 'fast-check';
import { installAppliers, installs } from '../../apps/scheduler/src/installs/installs.ts';
import { createScene, fenced, ok, refused, rowsOf as readRows, type Scene } from './scene.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

const scene = async (permissions: Record<string, boolean> = {}): Promise<Scene> =>
  createScene(database, { permissions });
const rowsOf = async (query: string, ...values: unknown[]) => readRows(database, query, ...values);

describe('/request-approval', () => {
  it('asks once for the same, with its description and issue', async () => {
    const set = await scene();
    const asked = fenced('/request-approval plan Repaint the shed', 'In green.');
    expect(await set.apply(asked)).toEqual(ok('a human is asked to approve: Repaint the shed'));
    expect(await set.apply(asked)).toEqual(ok('Repaint the shed waits for a human already', false));
    expect(
      await rowsOf(
        'select type, title, description, status, issue_id from approvals where company_id = $1',
        set.company.id,
      ),
    ).toEqual([
      {
        type: 'plan',
        title: 'Repaint the shed',
        description: 'In green.',
        status: 'pending',
        issue_id: set.own.id,
      },
    ]);
  });

  it('tells what is wrong, and where a hire is asked for', async () => {
    const set = await scene();
    expect(await set.apply('/request-approval holiday Two weeks')).toEqual(
      refused(expect.stringContaining('type')),
    );
    expect(await set.apply('/request-approval plan')).toEqual(refused('a title is missing'));
    expect(await set.apply('/request-approval hire_agent A painter')).toEqual(
      refused('use /install-agent: it asks for approval where needed'),
    );
    const silent = await scene({ 'approvals.request': false });
    expect(await silent.apply('/request-approval plan A')).toEqual(
      refused('permission approvals.request is off'),
    );
  });
});

describe('the install verbs', () => {
  it('make what their bodies say, in YAML, JSON or as a SKILL.md', async () => {
    const set = await scene();
    const memory = fenced(
      '/install-memory',
      '{"title": "Keys", "body_markdown": "Under the mat", "mood": 1}',
    );
    expect(await set.apply(memory)).toEqual(ok('memory Keys installed; not understood: mood'));
    expect(await set.apply(fenced('/install-note', 'title: Paint\ntags: [shed]'))).toEqual(
      ok('note Paint installed'),
    );
    const skill = '---\nname: Painting\ndescription: How we paint\n---\nTwo coats.';
    expect(await set.apply(fenced('/install-skill', skill))).toEqual(ok('skill painting installed'));
    expect((await set.apply('/use-skill painting')).result).toContain('Two coats.');
    const routine =
      'name: Sweep\nassignee: grace hopper\ncron_expression: 0 9 * * 1\ntimezone: Europe/Berlin';
    expect(await set.apply(fenced('/install-routine', routine))).toEqual(ok('routine Sweep installed'));
    const agent = 'name: Bob\nrole: engineer\nreports_to: Ada';
    expect(await set.apply(fenced('/install-agent', agent))).toEqual(ok('agent Bob installed'));

    const company = set.company.id;
    expect(
      await rowsOf('select kind, title from notes where company_id = $1 order by kind', company),
    ).toEqual([
      { kind: 'memory', title: 'Keys' },
      { kind: 'note', title: 'Paint' },
    ]);
    expect(
      await rowsOf(
        `select r.assignee_agent_id, t.cron_expression, t.timezone
         from routines r join routine_triggers t on t.routine_id = r.id where r.company_id = $1`,
        company,
      ),
    ).toEqual([{ assignee_agent_id: set.grace.id, cron_expression: '0 9 * * 1', timezone: 'Europe/Berlin' }]);
    expect(
      await rowsOf(
        `select reports_to, (select count(*)::int from agent_api_keys k where k.agent_id = a.id) as keys
         from agents a where company_id = $1 and name = 'Bob'`,
        company,
      ),
    ).toEqual([{ reports_to: set.ada.id, keys: 0 }]);
  });

  it('turn into approvals where a permission is withheld, once for the same', async () => {
    const set = await scene({ 'agents.create': false, 'skills.manage': false, 'routines.manage': false });
    const hire = fenced('/install-agent', 'name: Bob\nreports_to: Ada');
    expect(await set.apply(hire)).toEqual(ok('a human is asked to approve: Hire: Bob'));
    expect(await set.apply(hire)).toMatchObject({ ok: true });
    await set.apply(fenced('/install-skill', '---\nname: Painting\ndescription: How\n---\nTwo coats.'));
    await set.apply(fenced('/install-routine', 'name: Sweep\ncron: 0 9 * * 1'));
    expect(
      await rowsOf(
        'select type, title, payload from approvals where company_id = $1 order by title',
        set.company.id,
      ),
    ).toEqual([
      { type: 'hire_agent', title: 'Hire: Bob', payload: { name: 'Bob', reports_to: set.ada.id } },
      {
        type: 'install',
        title: 'Install routine: Sweep',
        payload: { kind: 'routine', body: { name: 'Sweep', cron_expression: '0 9 * * 1' } },
      },
      {
        type: 'install',
        title: 'Install skill: Painting',
        payload: expect.objectContaining({ kind: 'skill' }),
      },
    ]);
    expect(
      await rowsOf(`select id from agents where name = 'Bob' and company_id = $1`, set.company.id),
    ).toEqual([]);
  });

  it('ask an admin for a peer, whatever the agent may do', async () => {
    const set = await scene();
    expect(await set.apply(fenced('/install-federation', 'label: Acme\nurl: https://acme.example'))).toEqual(
      ok('a human is asked to approve: Install federation: Acme'),
    );
    expect(await rowsOf('select id from a2a_peers where company_id = $1', set.company.id)).toEqual([]);
    const body = { label: 'Acme', url: 'https://acme.example' };
    const target = { company_id: set.company.id, approval_id: newId(), agent_id: set.ada.id, body };
    const install = async (role: 'admin' | 'member') =>
      transaction(database, async (tx) =>
        installAppliers.federation!(tx, { ...actors.board(set.company), role }, target),
      );
    await expect(install('member')).rejects.toMatchObject({ kind: 'forbidden' });
    await install('admin');
    expect(await rowsOf('select label from a2a_peers where company_id = $1', set.company.id)).toEqual([
      { label: 'Acme' },
    ]);
  });

  it('give a skill to who asked for it, also where a person approved it', async () => {
    const set = await scene({ 'skills.manage': false });
    const [content, board] = [
      '---\nname: Painting\ndescription: How\n---\nTwo coats.',
      actors.board(set.company),
    ];
    const target = { company_id: set.company.id, approval_id: newId(), agent_id: set.ada.id, body: content };
    await transaction(database, async (tx) => installAppliers.skill!(tx, board, target));
    expect((await set.apply('/use-skill painting')).result).toContain('Two coats.');
    expect(await rowsOf('select agent_id from agent_skills where agent_id = $1', set.grace.id)).toEqual([]);
  });

  it('tell what is wrong before anybody is asked, and change nothing', async () => {
    const set = await scene({ 'agents.create': false });
    for (const [text, error] of [
      [fenced('/install-agent', 'role: engineer'), "body must have required property 'name'"],
      [fenced('/install-agent', 'name: Bob\nreports_to: Nobody'), 'there is no agent "Nobody"'],
      [fenced('/install-note', 'title: [1'), expect.stringMatching(/^the body: /)],
      [fenced('/install-note', '- a\n- b'), 'the body must be a map of fields'],
      [fenced('/install-skill', '---\nname: x\n---\n'), expect.stringContaining('description')],
      [
        fenced('/install-routine', 'name: R\ncron_expression: tomorrow'),
        'cron_expression: five fields are required',
      ],
      ['/install-agent', 'a fenced body is missing'],
      [fenced('/install-federation', 'url: x'), "body must have required property 'label'"],
      [
        fenced('/install-federation', 'label: Acme\nurl: https://acme.example\napi_key: sk_1'),
        'api_key: an admin sets the key once the peer exists',
      ],
    ] as const)
      expect(await set.apply(text)).toEqual(refused(error));
    expect(await rowsOf('select id from approvals where company_id = $1', set.company.id)).toEqual([]);
    expect(await rowsOf('select id from routines where company_id = $1', set.company.id)).toEqual([]);
  });
});

describe('a body', () => {
  const kinds = Object.keys(installs) as (keyof typeof installs)[];
  const text = fc.oneof(
    fc.string({ maxLength: 200 }),
    fc.json(),
    fc
      .array(fc.constantFrom('name: a', '- x', 'a: &a [*a]', '<<: *a', '? x', '!!js/fn x', '---', '\t'), {
        maxLength: 8,
      })
      .map((lines) => lines.join('\n')),
  );

  it('of whatever kind is understood or refused in words, and never anything else', () => {
    const told = (kind: (typeof kinds)[number], body: string): unknown => {
      try {
        installs[kind].read(readYaml(body, 'the body'));
        return undefined;
      } catch (err) {
        return err instanceof ServiceError ? err.kind : err;
      }
    };
    fc.assert(
      fc.property(fc.constantFrom(...kinds), text, (kind, body) => {
        expect([undefined, 'invalid']).toContain(told(kind, body));
      }),
      { numRuns: 2000 },
    );
  });

  it('that repeats itself by aliases is refused at once', () => {
    const bomb = Array.from(
      { length: 30 },
      (_, n) => `a${n}: &a${n} [${`*a${n - 1},`.repeat(n === 0 ? 0 : 9)}]`,
    );
    expect(() => readYaml(bomb.join('\n'), 'the body')).toThrow('the body: ');
  });
});

const registry = new ToolRegistry([], testLogger());
async function callTool(
  tx: Tx,
  caller: Omit<ToolCall, 'tool' | 'input'>,
  name: string,
  input: unknown,
): Promise<unknown> {
  const { call, provider } = await registry.resolve(tx, caller, name, input);
  return provider.commit?.(tx, call, undefined);
}

describe('/mcp:', () => {
  it('calls a tool of the company and shows its answer', async () => {
    const set = await scene();
    const created = await set.apply('/mcp:create_issue {"title": "Buy paint", "priority": "high"}');
    expect(created).toEqual(ok(expect.stringContaining('"title":"Buy paint"')));
    const read = await set.apply(`/mcp:get_issue {"issue": "${set.own.identifier.toLowerCase()}"}`);
    expect(read).toEqual(
      ok(expect.stringMatching(/^<result tool="get_issue">\n\{.*"Own work".*\}\n<\/result>$/s), false),
    );
    expect(await set.apply('/mcp:list_agents')).toEqual(ok(expect.stringContaining('Grace Hopper'), false));
    expect(await set.apply('/mcp:list_agents {"q": "hopper", "limit": 1}')).toEqual(
      ok(expect.stringMatching(/^(?=.*"Grace Hopper")(?!.*"Ada")(?!.*system_prompt)/s), false),
    );
  });

  it('tells what is wrong', async () => {
    const set = await scene();
    for (const [line, error] of [
      ['/mcp:fly {}', 'there is no tool "fly"'],
      ['/mcp:constructor {}', 'there is no tool "constructor"'],
      ['/mcp:get_issue {issue: 1}', expect.stringContaining('not JSON')],
      ['/mcp:get_issue {}', "input must have required property 'issue'"],
      ['/mcp:get_issue {"issue": 7}', 'input.issue must be string'],
      ['/mcp:get_note {"note": "Nothing"}', 'there is no note "Nothing"'],
    ] as const)
      expect(await set.apply(line)).toEqual(refused(error));
  });

  it('of an agent without the permission is refused', async () => {
    const set = await scene({ 'issues.create': false, 'notes.write': false });
    expect(await set.apply('/mcp:create_issue {"title": "A"}')).toEqual(
      refused('permission withheld: issues.create'),
    );
    expect(await set.apply('/mcp:create_note {"title": "A"}')).toEqual(
      refused('permission withheld: notes.write'),
    );
  });
});

describe('the tools', () => {
  const inputs = (issue: string, agent: string): Record<string, unknown> => ({
    create_issue: { title: 'A' },
    update_issue: { issue, priority: 'low' },
    create_comment: { issue, body_markdown: 'Hello' },
    put_document: { issue, key: 'plan', title: 'Plan', body: 'x' },
    create_note: { title: 'A second note' },
    update_note: { note: 'Note', tags: ['x'] },
    create_skill: { name: 'Skill', description: 'What for', body_markdown: 'x' },
    create_routine: { name: 'Routine' },
    get_issue: { issue },
    list_comments: { issue },
    list_documents: { issue },
    get_document: { issue, key: 'plan' },
    get_note: { note: 'Note' },
    archive_note: { note: 'Note' },
    unarchive_note: { note: 'Note' },
    get_skill: { skill: 'skill' },
    get_routine: { routine: 'Routine' },
    fire_routine: { routine: 'Routine' },
    get_agent: { agent },
    search_knowledge: { q: 'note' },
  });

  it('each do what they say for an agent, and none of them reaches another company', async () => {
    const set = await scene();
    const stranger = await scene();
    await transaction(database, async (tx) =>
      createNote(tx, set.run.actor, set.company.id, { title: 'Note' }),
    );
    const all = inputs(set.own.identifier, set.ada.id);
    const names = [...new Set([...Object.keys(all), ...toolTable.map(({ name }) => name)])];
    expect(names).toHaveLength(toolTable.length);
    const foreign = inputs(set.own.id, set.ada.id);
    const call = async (who: typeof set, name: string, input: unknown) =>
      transaction(database, async (tx) =>
        callTool(tx, { actor: who.run.actor, company_id: who.company.id, call_id: '' }, name, input ?? {}),
      );
    for (const name of names)
      expect([name, await call(set, name, all[name])]).toEqual([name, expect.anything()]);
    // Everything created or listed is the stranger's own; nothing that takes an id may find another company's.
    const lists = names.filter((name) => /^(?:list_(?!comments|documents)|search_)/.test(name));
    for (const name of lists) {
      const answer = JSON.stringify(await call(stranger, name, all[name]));
      expect([name, answer.includes(set.company.id)]).toEqual([name, false]);
    }
    const others = names.filter((name) => !lists.includes(name) && !/^create_(?!comment)/.test(name));
    expect(others).toHaveLength(15);
    for (const name of others)
      await expect(call(stranger, name, foreign[name])).rejects.toMatchObject({ kind: 'not_found' });
  });

  it('that write are refused to a viewer’s key', async () => {
    const set = await scene();
    const viewer = { ...actors.board(set.company), role: 'viewer' as const };
    const caller = { actor: viewer, company_id: set.company.id, call_id: '' };
    const call = async ({ name }: { name: string }) =>
      callTool(database.db, caller, name, inputs(set.own.id, set.ada.id)[name] ?? {});
    for (const tool of toolTable.filter(({ read_only }) => !read_only))
      await expect(call(tool)).rejects.toMatchObject({ kind: 'forbidden' });
    for (const tool of toolTable.filter(({ name }) => name.startsWith('list_')))
      expect(await call(tool)).toEqual(expect.anything());
  });
});
