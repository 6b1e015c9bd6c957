/** Verbs of an agent with every permission that name what is another company's: they find nothing, say nothing and change nothing. */
import { beforeAll, expect, it } from '@jest/globals';
import { agentPermissionDefaults, type VerbRow, verbTable } from '@acp/contract';
import type { Database } from '@acp/db';
import { databaseWithQueue } from '@acp/testkit';
import { createScene, fenced } from '../verbs/scene.ts';
import { createNeighbour, MARK, type Neighbour } from './neighbour.ts';

let database: Database;
let neighbour: Neighbour;
let before: Record<string, string>;
/** What came of each verb, without the words that it was given. */
const came = new Map<string, string[]>();

const available = verbTable.filter((row) => row.available);

beforeAll(async () => {
  database = await databaseWithQueue();
  neighbour = await createNeighbour(database);
  before = await neighbour.rows();
  const permissions = Object.fromEntries(Object.keys(agentPermissionDefaults).map((name) => [name, true]));
  for (const row of available) {
    const texts: string[] = [];
    for (const names of [await namesOf(), idsOf()]) {
      for (const line of linesOf(row, names)) {
        const { apply } = await createScene(database, { permissions });
        const { result, error } = await apply(line);
        texts.push(
          Object.values(names).reduce((text, name) => text.replaceAll(name, ''), result ?? error ?? ''),
        );
      }
    }
    came.set(row.name, texts);
  }
});

/** What of the neighbour a verb may be given, by the word for it in the grammar. */
type Names = Record<'issue' | 'agent' | 'project' | 'note' | 'slug' | 'name' | 'tool', string>;

function idsOf(): Names {
  const { issueId, agentId, projectId, noteId, skillId, routineId, serverId } = neighbour.stage as Record<
    keyof typeof neighbour.stage,
    string
  >;
  return {
    issue: issueId!,
    agent: agentId!,
    project: projectId!,
    note: noteId!,
    slug: skillId!,
    name: routineId!,
    tool: serverId!,
  };
}

async function namesOf(): Promise<Names> {
  const { issue, agent, skillId } = { ...idsOf(), skillId: neighbour.stage.skillId! };
  const { rows } = await database.pool.query<{ issue: string; agent: string; slug: string }>(
    `select i.identifier as issue, a.name as agent, s.slug from issues i, agents a, skills s
      where i.id = $1 and a.id = $2 and s.id = $3`,
    [issue, agent, skillId],
  );
  return { ...rows[0]!, project: MARK, note: MARK, name: MARK, tool: 'staged__staged' };
}

/** With everything that it can be given, and for a search the words alone. */
function linesOf({ name, params, keys, body }: VerbRow, names: Names): string[] {
  const words: Record<string, string> = {
    ...names,
    status: 'done',
    priority: 'high',
    type: 'action',
    role: 'engineer',
    cron: '0 9 * * *',
    path: 'ours.md',
    title: 'Ours',
    text: 'Ours',
    parent: names.issue,
    assignee: names.agent,
    q: MARK.toLowerCase(),
    kind: 'note',
    limit: '50',
  };
  const given = (key: string): string => {
    if (words[key] === undefined) throw new Error(`what is the ${key} of /${name}? Say so in tests/tenants`);
    return words[key];
  };
  const pair = (key: string): string => `${key}="${given(key)}"`;
  const line = `/${name} ${[...params.map((param) => given(param.name)), ...keys.map(pair)].join(' ')}`;
  const all = line.replace(': ', ':');
  return [
    body === 'required' ? fenced(all, 'Ours.') : all,
    ...(keys.includes('q') ? [`/${name} ${pair('q')}`] : []),
  ];
}

it.each(available.map(({ name }) => name))('/%s', (name) => {
  expect(came.get(name)!.flatMap((text) => neighbour.tracesIn(text))).toEqual([]);
});

it('none of them has changed anything there', async () => {
  expect(await neighbour.rows()).toEqual(before);
});
