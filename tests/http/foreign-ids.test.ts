/**
 * Ids in bodies and queries, and the second ids of paths, generated from the endpoint table as the matrix does for the first:
 * each id a schema accepts is sent once as another company's and once as nonexistent. Both get the same response, so that no
 * one learns what exists elsewhere; and it is an error, so that nothing refers to it.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EXAMPLE_ID, type EndpointRow, endpoints, exampleBody, pathParams } from '@acp/contract';
import { newId } from '@acp/kernel';
import request from 'supertest';
import { type Cast, createCast } from './cast.ts';
import { createStage, pathOn, type Stage } from './stage.ts';
import { startWholeApp, type WholeApp } from './whole-app.ts';

/** Names of a schema's properties; `[]` stands for the entries of an array. */
type Trail = readonly string[];
interface Shape {
  readonly format?: string;
  readonly anyOf?: readonly Shape[];
  readonly items?: Shape;
  readonly properties?: Readonly<Record<string, Shape>>;
}
interface Place {
  in: 'body' | 'query' | 'path';
  trail: Trail;
}

function trailsOfIds(shape: Shape | undefined, trail: Trail = []): Trail[] {
  if (shape === undefined) return [];
  if (shape.format === 'uuid') return [trail];
  return [
    ...(shape.anyOf ?? []).flatMap((variant) => trailsOfIds(variant, trail)),
    ...(shape.items ? trailsOfIds(shape.items, [...trail, '[]']) : []),
    ...Object.entries(shape.properties ?? {}).flatMap(([name, inner]) =>
      trailsOfIds(inner, [...trail, name]),
    ),
  ];
}

/** Ids of a path after the one that determines the scope, and all of body and query. */
const placesOf = ({ path, scope, body, query }: EndpointRow): Place[] => [
  ...pathParams(path)
    .filter((name) => name.endsWith('Id') && !('param' in scope && scope.param === name))
    .map((name) => ({ in: 'path' as const, trail: [name] })),
  ...trailsOfIds(body).map((trail) => ({ in: 'body' as const, trail })),
  ...trailsOfIds(query).map((trail) => ({ in: 'query' as const, trail })),
];

/** People belong to no company; a path that names them checks their membership. */
const ofNoCompany: readonly string[] = ['user_id'];
/** A join request names a company the person is not in yet; a view's filters are only compared when it is read. */
const asksElsewhere: readonly string[] = ['join-requests.create', 'views.create', 'views.update'];
/** Instance admins act on every company, workers and the public on none. */
const namesOne = ({ id, auth, role }: EndpointRow): boolean =>
  !asksElsewhere.includes(id) && role !== 'instance_admin' && auth.some((kind) => kind !== 'worker');
const rows = endpoints.filter(namesOne).flatMap((row) =>
  placesOf(row)
    .filter(({ trail }) => !trail.some((name) => ofNoCompany.includes(name)))
    .map((place) => ({ row, place, title: `${row.id}: ${place.in} ${place.trail.join('.')}` })),
);

/** The staged entity that a field's name refers to. */
function thingOf(trail: Trail): string {
  const name = trail.findLast((part) => part !== '[]')!;
  if (name in foreign) return name;
  const kinds: readonly (readonly [RegExp, string])[] = [
    [/reports_to|agent_?ids?$|scope_id/i, 'agentId'],
    [/issue_?id$|entity_id/i, 'issueId'],
    [/approval_id$/, 'approvalId'],
    [/project_?id$/i, 'projectId'],
    [/goal_id$/, 'goalId'],
    [/label_?ids?$/i, 'labelId'],
    [/run_id$/, 'runId'],
    [/provider_id$/, 'providerId'],
    [/company_id$/, 'companyId'],
  ];
  const found = kinds.find(([pattern]) => pattern.test(name));
  if (!found) throw new Error(`what is a ${name}? Say so in tests/http/foreign-ids.test.ts`);
  return found[1];
}

/** Adds the other fields that must be present for the id to be checked. */
function completed(row: EndpointRow, body: unknown): unknown {
  const fields = body as Record<string, unknown>;
  if (row.id === 'budgets.create-policy') return { ...fields, scope_type: 'agent' };
  if (row.id === 'portability.import') return { ...fields, new_company: undefined };
  if (row.id !== 'councils.convene') return body;
  return { ...fields, agent_ids: [...(fields.agent_ids as string[]), cast.agent_id] };
}

/** Replaces the nonexistent ids of examples by those of the stage. */
function onStage(value: unknown, stage: Stage, trail: Trail = []): unknown {
  if (value === EXAMPLE_ID) return stage[thingOf(trail)];
  if (Array.isArray(value)) return value.map((entry) => onStage(entry, stage, [...trail, '[]']));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, onStage(inner, stage, [...trail, name])]),
  );
}

/** A copy with `id` at the end of the trail. */
function withId(value: unknown, [name, ...rest]: Trail, id: string): unknown {
  if (name === undefined) return id;
  if (name === '[]') return [withId(Array.isArray(value) ? value[0] : undefined, rest, id)];
  const fields = (value ?? {}) as Record<string, unknown>;
  return { ...fields, [name]: withId(fields[name], rest, id) };
}

let app: WholeApp;
let cast: Cast;
let stage: Stage;
let foreign: Stage;

beforeAll(async () => {
  app = await startWholeApp({ SERVICE_ENCRYPTION_KEY: '7'.repeat(64) });
  cast = await createCast(app.database);
  stage = await createStage(app.database, cast);
  foreign = await createStage(app.database, await createCast(app.database));
});

afterAll(() => app.close());

/** The company's caller with the most rights. */
const callerOf = ({ auth, role }: EndpointRow) =>
  role === 'instance_admin' ? cast.instance_admin : auth.includes('user') ? cast.admin : cast.agent;

async function send(row: EndpointRow, place: Place, id: string) {
  const verb = row.method.toLowerCase() as Lowercase<EndpointRow['method']>;
  const on = place.in === 'path' ? { ...stage, [place.trail[0]!]: id } : stage;
  const sent = request(app.server)[verb](pathOn(on, row)).set(callerOf(row).headers);
  sent.set('Last-Event-ID', 'nonsense');
  if (place.in === 'query') sent.query({ [place.trail[0]!]: id });
  if (place.in === 'body')
    void sent.send(completed(row, withId(onStage(exampleBody(row), stage), place.trail, id)) as object);
  const { status, body } = await sent;
  return { status, body: JSON.stringify(body).replaceAll(id, '<id>') };
}

describe('an id of another company', () => {
  it.each(rows)('$title: as one of nothing', async ({ row, place }) => {
    const unknown = await send(row, place, newId());
    const theirs = await send(row, place, foreign[thingOf(place.trail)]!);
    const refused = [400, 404, 409].includes(theirs.status);
    expect({ ...theirs, refused: refused || place.in === 'query' }).toEqual({ ...unknown, refused: true });
  });
});
