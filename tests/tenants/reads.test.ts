/** What a company's people, agents and keys can read, by the API and on pages, has nothing of another company. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { endpoints, type EndpointRow } from '@acp/contract';
import type { Express } from 'express';
import request from 'supertest';
import { uiPages } from '../../apps/web/src/ui/pages.ts';
import { type Cast, createCast } from '../http/cast.ts';
import { startPages } from '../http/pages.ts';
import { createStage, pathOn, type Stage } from '../http/stage.ts';
import { createNeighbour, MARK, type Neighbour } from './neighbour.ts';

let app: Express;
let cast: Cast;
let stage: Stage;
let neighbour: Neighbour;

beforeAll(async () => {
  const pages = await startPages({ SERVICE_ENCRYPTION_KEY: '7'.repeat(64) });
  ({ app } = pages);
  neighbour = await createNeighbour(pages.database);
  cast = await createCast(pages.database);
  stage = { ...(await createStage(pages.database, cast)), part: 'runs', tool: 'greet' };
});

/** Workers are the instance's, and whoever is signed in may list them. */
const ofTheInstance: readonly string[] = ['workers.list'];

/** Instance admins read everything of all companies, and workers what they have claimed. */
const reads = endpoints.filter(
  ({ id, method, auth, role, streams }) =>
    method === 'GET' &&
    auth.some((kind) => kind !== 'worker') &&
    role !== 'instance_admin' &&
    !streams &&
    !ofTheInstance.includes(id),
);

/** What contains numbers only, or only what the operator, a scheduler or another company has provided. */
const unrecognisable: readonly string[] = [
  'agents.defaults',
  'credentials.of-member',
  'figures.days',
  'issues.deleted',
  'mcp-servers.list-commands',
  'peers.list-pushes',
  'plugins.list-audit',
];

/** Whatever can be searched is also searched for the neighbour's texts. */
function pathsOf(on: Stage, row: EndpointRow): string[] {
  const path = pathOn(on, row);
  const { properties = {}, required = [] } = (row.query ?? {}) as {
    properties?: object;
    required?: string[];
  };
  const searched = 'q' in properties ? [`${path}?q=${MARK.toLowerCase()}`] : [];
  return required.includes('q') ? searched : [path, ...searched];
}

const callersOf = ({
  auth,
  people_only,
}: EndpointRow): (keyof Cast & ('admin' | 'agent' | 'board_admin'))[] => [
  ...(auth.includes('user') ? (['admin'] as const) : []),
  ...(auth.includes('agent') && !people_only ? (['agent'] as const) : []),
  ...(auth.includes('board_user') ? (['board_admin'] as const) : []),
];

const get = async (path: string, headers: Record<string, string>) =>
  request(app)
    .get(path)
    .set({ 'Sec-Fetch-Site': 'same-origin', ...headers });

describe('the neighbour', () => {
  it('is recognised in what its own admin reads, wherever a company’s things are listed', async () => {
    const unseen: string[] = [];
    for (const row of reads.filter(({ scope, auth }) => scope.by === 'company' && auth.includes('user'))) {
      const traces: string[] = [];
      for (const path of pathsOf(neighbour.stage, row))
        traces.push(...neighbour.tracesIn((await get(path, neighbour.cast.admin.headers)).text));
      if (traces.length === 0) unseen.push(row.id);
    }
    expect(unseen.toSorted()).toEqual(unrecognisable);
  });
});

describe('of another company, nothing is told', () => {
  it.each(reads.map((row) => [row.id, row] as const))('by %s', async (_id, row) => {
    for (const who of callersOf(row))
      for (const path of pathsOf(stage, row)) {
        const { text, status } = await get(path, cast[who].headers);
        expect([who, status >= 500, neighbour.tracesIn(text)]).toEqual([who, false, []]);
      }
  });

  const pages = uiPages.flatMap((route) =>
    route.kind === 'page' && route.role !== 'instance_admin' ? [[route.path, route] as const] : [],
  );
  it.each(pages)('on the page %s', async (_path, route) => {
    const { text, status } = await get(pathOn(stage, route), cast.admin.headers);
    expect([status, neighbour.tracesIn(text)]).toEqual([200, []]);
  });
});
