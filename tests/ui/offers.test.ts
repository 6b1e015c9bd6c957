/** What a page offers its reader: every link leads somewhere, and every form is one that they may send. */
import { beforeAll, expect, it } from '@jest/globals';
import { uiPages } from '../../apps/web/src/ui/pages.ts';
import { transaction } from '@acp/db';
import { type Cast, createCast, person } from '../http/cast.ts';
import { pageForms } from '../http/page-forms.ts';
import { Browser, type Pages, startPages } from '../http/pages.ts';
import { createStage, isPart, pathOn, type Stage } from '../http/stage.ts';

let pages: Pages;
let cast: Cast;
let stage: Stage;

beforeAll(async () => {
  pages = await startPages({ SERVICE_ENCRYPTION_KEY: 'ab'.repeat(32) });
  cast = await createCast(pages.database);
  stage = { ...(await createStage(pages.database, cast)), part: 'runs', tool: 'greet' };
});

const people = ['viewer', 'member', 'instance_admin'] as const;
const shown = (): string[] => [
  ...new Set(
    uiPages
      .filter((route) => route.kind === 'page' && !isPart(route.path))
      .map((route) => pathOn(stage, route)),
  ),
];

interface ShownPage {
  path: string;
  text: string;
}
const seen = new Map<(typeof people)[number], Promise<ShownPage[]>>();

/** All pages that they may read; nothing here changes what is on them. */
function pagesOf(who: (typeof people)[number]): Promise<ShownPage[]> {
  const read = async () => {
    const reader = Browser.of(pages.app, cast[who]);
    const answers: ShownPage[] = [];
    for (const path of shown()) {
      const { text, status } = await reader.get(path);
      if (status === 200) answers.push({ path, text });
    }
    return answers;
  };
  if (!seen.has(who)) seen.set(who, read());
  return seen.get(who)!;
}

/** Served by others than the pages. */
const elsewhere = /^\/(?:api\/|readyz|metrics)/;
/** What is listed there may have been deleted since. */
const past = /\/activity$|^\/companies\/[^/]+$/;

const hrefs = (text: string): string[] =>
  [...text.matchAll(/<a\b[^>]*?\shref="(\/[^"]*)"/g)].map(
    ([, href]) =>
      href!.replaceAll('&#61;', '=').replaceAll('&amp;', '&').replaceAll('&#38;', '&').split('#')[0]!,
  );

it.each(people)('every link on a page leads whoever reads it to a page: %s', async (who) => {
  const reader = Browser.of(pages.app, cast[who]);
  const asked = new Map<string, number>();
  const dead: string[] = [];
  for (const { path, text } of await pagesOf(who)) {
    for (const href of new Set(hrefs(text))) {
      if (elsewhere.test(href)) continue;
      if (!asked.has(href)) asked.set(href, (await reader.get(href)).status);
      const answer = asked.get(href)!;
      if (answer >= 400 && !(answer === 404 && past.test(path))) dead.push(`${path}: ${href} ${answer}`);
    }
  }
  expect(asked.size).toBeGreaterThan(50);
  expect(dead).toEqual([]);
});

/** Forms that readers see without what sends them. */
const readOnly = ['/companies/{companyId}/issues/changes', '/issues/{issueId}/properties'];
const ranks = ['none', 'viewer', 'member', 'admin', 'instance_admin'];

const actionAt = (action: string) => {
  const route = uiPages.find(
    ({ kind, path: at }) =>
      kind === 'action' && new RegExp(`^${at.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(action.split('?')[0]!),
  );
  return route?.kind === 'action' ? route : undefined;
};

it.each(people)('every form on a page is one that its reader may send: %s', async (who) => {
  const forbidden: string[] = [];
  for (const { path, text } of await pagesOf(who)) {
    for (const { action } of pageForms(text)) {
      const route = actionAt(action);
      if (route === undefined || readOnly.includes(route.path)) continue;
      if (ranks.indexOf(route.endpoint.role) > ranks.indexOf(who))
        forbidden.push(`${path}: ${action} ${route.endpoint.role}`);
    }
  }
  expect(forbidden).toEqual([]);
});

interface NumberSchema {
  type?: string;
  minimum?: number;
  exclusiveMinimum?: number;
  anyOf?: readonly NumberSchema[];
}

it('a browser refuses no number that the endpoint of its form takes', async () => {
  const narrower: string[] = [];
  let numbers = 0;
  for (const { text } of await pagesOf('instance_admin'))
    for (const [, action, fields] of text.matchAll(/<form[^>]* action="([^"]+)"[^>]*>([^]*?)<\/form>/g))
      for (const [tag] of fields!.matchAll(/<input[^>]* type="number"[^>]*>/g)) {
        const name = / name="([^"]+)"/.exec(tag)![1]!;
        const body: { properties?: Record<string, NumberSchema> } | undefined = actionAt(action!)?.endpoint
          .body;
        const schema = body?.properties?.[name];
        if (schema === undefined) continue;
        numbers += 1;
        const { type, minimum = 0 } = schema.anyOf?.find(({ type: one }) => one !== 'null') ?? schema;
        const least = Number(/ min="([^"]*)"/.exec(tag)?.[1] ?? -Infinity);
        if (type !== 'integer' || least > minimum)
          narrower.push(`${action!} ${name}: ${type!} from ${minimum}, in the browser from ${least}`);
      }
  expect(numbers).toBeGreaterThan(20);
  expect(narrower).toEqual([]);
});

it('a dashboard whose activity is no longer kept offers only what its reader may do', async () => {
  const company = cast.other_company_id;
  const offered = async (role: 'viewer' | 'member') => {
    const reader = await transaction(pages.database, async (tx) => person(tx, 'member', company, role));
    await pages.database.pool.query('delete from activity where company_id = $1', [company]);
    const { text } = await Browser.of(pages.app, reader).get(`/companies/${company}`, {
      'HX-Request': 'true',
    });
    expect(text).toContain('No activity yet');
    return [...text.matchAll(/href="\/companies\/[^/]+\/(\w+\/new)"/g)].map(([, form]) => form);
  };
  expect(await offered('viewer')).toEqual([]);
  expect(await offered('member')).toEqual(['agents/new', 'issues/new']);
});
