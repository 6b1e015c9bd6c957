/** Issues as a list and as a board: filters, views, bulk changes, and undo. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { createIssue, createLabel, systemActor } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import type { Express } from 'express';
import { type Cast, createCast } from '../http/cast.ts';
import { pageForms } from '../http/page-forms.ts';
import { Browser, startPages } from '../http/pages.ts';

let app: Express;
let cast: Cast;
let database: Database;
let list: string;
let ids: string[];
let label: string;

const director = systemActor('tests');

beforeAll(async () => {
  ({ app, database } = await startPages());
  cast = await createCast(database);
  list = `/companies/${cast.company_id}/issues`;
  await transaction(database, async (tx) => {
    const made = [];
    for (const [title, priority] of [
      ['Bind the books', 'low'],
      ['Order paper', 'critical'],
      ['Sweep the shop', 'medium'],
    ] as const)
      made.push(await createIssue(tx, director, cast.company_id, { title, priority, status: 'backlog' }));
    ids = made.map((issue) => issue.id);
    ({ id: label } = await createLabel(tx, director, cast.company_id, { name: 'paper' }));
  });
});

/** The listed titles, top to bottom. */
const titlesOf = (text: string): string[] =>
  [...text.matchAll(/class="issue-title"[^>]*>([^<]*)</g)].map(([, title]) => title!.trim());
const changesIn = (text: string): string =>
  /name="changes" value="([^"]*)"/.exec(text)![1]!.replaceAll('&#34;', '"');

describe('the list of issues', () => {
  it('is sorted and narrowed down by its address, and says when nothing matches', async () => {
    const member = Browser.of(app, cast.member);
    const sorted = await member.get(`${list}?sort=priority`);
    expect(titlesOf(sorted.text)).toEqual(['Order paper', 'Sweep the shop', 'Bind the books']);
    // On a phone, filters that are set are in sight, others unfold.
    expect(sorted.text).toMatch(/<details class="more-filters" +open/);
    expect((await member.get(`${list}?all=yes`)).text).not.toMatch(/<details class="more-filters" +open/);
    expect(sorted.text).toMatch(/aria-sort="descending">\s*<a class="sort" href="[^"]*reverse&#61;yes/);
    expect(titlesOf((await member.get(`${list}?sort=title&reverse=yes`)).text)[0]).toBe('Sweep the shop');
    const turned = await member.get(`${list}?sort=title&reverse=yes&columns=status`);
    expect(titlesOf(turned.text)[0]).toBe('Sweep the shop');
    const kept = /<form class="filters[^]*?<\/form>/.exec(turned.text)![0];
    for (const field of ['name="reverse" value="yes"', 'name="columns" value="status"'])
      expect(kept).toContain(field);
    const none = await member.get(`${list}?q=nothing+like+it`);
    expect(none.text).toContain('Nothing matches');
  });

  it('remembers its filter, for the board too, until all are asked for', async () => {
    const member = Browser.of(app, cast.member);
    await member.get(`${list}?priority=critical`);
    expect(titlesOf((await member.get(list)).text)).toEqual(['Order paper']);
    const board = await member.get(`/companies/${cast.company_id}/board`);
    expect([board.text.includes('Order paper'), board.text.includes('Bind the books')]).toEqual([
      true,
      false,
    ]);
    expect(titlesOf((await member.get(`${list}?all=yes`)).text)).toHaveLength(3);
    expect(titlesOf((await member.get(list)).text)).toHaveLength(3);
  });

  it('remembers no text that was searched for', async () => {
    const member = Browser.of(app, cast.member);
    const found = await member.get(`${list}?q=paper&priority=critical`);
    expect(titlesOf(found.text)).toEqual(['Order paper']);
    expect(member.lastSetCookie.join()).not.toContain('paper');
    member.cookies.set('issue_filter', 'q%3Dbind');
    for (const path of [list, `/companies/${cast.company_id}/board`])
      expect((await member.get(path)).text).toContain('Sweep the shop');
    await member.get(`${list}?all=yes`);
  });

  it('changes what is chosen at once, says so, and takes it back', async () => {
    const member = Browser.of(app, cast.member);
    const form = { issue: ids.slice(0, 2), status: 'todo', add_label: label, assignee_agent_id: '' };
    const done = await member.post(`${list}/changes?sort=title`, form);
    expect(done.text).toContain('2 issues changed.');
    expect(done.text.match(/data-status="todo"/g)).toHaveLength(2);
    expect(titlesOf((await member.get(`${list}?label=${label}`)).text)).toHaveLength(2);
    const back = await member.post(`${list}/undo`, { changes: changesIn(done.text) });
    expect(back.text).toContain('2 issues changed back.');
    expect(titlesOf((await member.get(`${list}?label=${label}`)).text)).toEqual([]);
    await member.get(`${list}?all=yes`);
  });

  it('moves what is chosen to the trash, shows it there, and brings it back', async () => {
    const member = Browser.of(app, cast.member);
    const gone = await member.post(`${list}/changes?delete=yes`, { issue: [ids[2]!] });
    expect(gone.text).toContain('1 issue moved to the trash.');
    expect((await member.get(`/issues/${ids[2]!}`)).status).toBe(404);
    const trash = await member.get(`${list}/deleted`);
    expect(trash.text).toContain('Sweep the shop');
    await member.post(`${list}/undo`, { changes: changesIn(trash.text) });
    expect((await member.get(`/issues/${ids[2]!}`)).status).toBe(200);
    const alone = await member.post(`/issues/${ids[2]!}/delete`);
    expect(alone.text).toContain('is in the trash.');
    await member.post(`${list}/undo`, { changes: changesIn(alone.text) });
    expect((await member.get(`/issues/${ids[2]!}`)).status).toBe(200);
  });

  it('refuses an act on nothing, and nothing to do, beside the list', async () => {
    const member = Browser.of(app, cast.member);
    for (const [form, error] of [
      [{ status: 'done' }, 'choose an issue first'],
      [{ issue: ids }, 'choose what to change'],
    ] as const) {
      const refused = await member.post(`${list}/changes`, form);
      expect([refused.status, refused.text.includes(error)]).toEqual([400, true]);
    }
  });

  it('stays on the page where it was changed or refused, and keeps what was chosen', async () => {
    const { company_id, member: person } = await createCast(database);
    await transaction(database, async (tx) => {
      for (let at = 10; at < 62; at += 1)
        await createIssue(tx, director, company_id, { title: `Page ${at}`, status: 'backlog' });
    });
    const member = Browser.of(app, person);
    const own = `/companies/${company_id}/issues`;
    /** The address in the page of the list or of an act on it. */
    const linked = (text: string, act = ''): string =>
      new RegExp(`"(${own}${act}[?]sort=title&[^"]*cursor=[^"]+)"`).exec(
        text.replaceAll('&#61;', '=').replaceAll('&#38;', '&'),
      )?.[1] ?? 'none';
    const second = linked((await member.get(`${own}?sort=title`)).text);
    const shown = (await member.get(second)).text;
    expect(titlesOf(shown)).toEqual(['Page 60', 'Page 61']);
    const chosen = [...shown.matchAll(/name="issue"\s+value="([^"]+)"/g)].map(([, id]) => id!);
    const changes = linked(shown, '/changes');
    const refused = (await member.post(changes, { issue: [chosen[1]!] })).text;
    expect(refused).toContain('choose what to change');
    expect(titlesOf(refused)).toEqual(['Page 60', 'Page 61']);
    expect(refused).toMatch(new RegExp(`value="${chosen[1]!}"[^>]* checked`));
    const done = (await member.post(changes, { issue: chosen, status: 'todo' })).text;
    expect(titlesOf(done)).toEqual(['Page 60', 'Page 61']);
    expect(/data-address="([^"]*)"/.exec(done)![1]).toContain('cursor');
    // Nothing is left on that page: the first one follows.
    const gone = (await member.post(`${changes}&delete=yes`, { issue: chosen })).text;
    expect(titlesOf(gone)).toHaveLength(50);
    const back = await member.post(linked(gone, '/undo'), { changes: changesIn(gone) });
    expect(titlesOf(back.text)).toEqual(['Page 60', 'Page 61']);
  });

  it('shows a viewer nothing to choose and nothing to change', async () => {
    const { text } = await Browser.of(app, cast.viewer).get(`${list}?all=yes`);
    expect(titlesOf(text)).toHaveLength(3);
    for (const part of ['data-bulk', 'data-edit', 'name="issue"']) expect(text).not.toContain(part);
    for (const page of [
      text,
      (await Browser.of(app, cast.viewer).get(list.replace(/issues$/, 'board'))).text,
    ])
      expect(page).not.toContain('/issues/new"');
  });

  it.each([`issues/part/rows`, `board/part/cards`])(
    'gives those that are asked for at %s, none of another company, and refuses what is no list of ids',
    async (part) => {
      const member = Browser.of(app, cast.member);
      const address = list.replace(/issues$/, part);
      const issuesOf = (text: string) => [...text.matchAll(/data-issue="([^"]+)"/g)].map(([, id]) => id);
      const foreign = await transaction(database, async (tx) =>
        createIssue(tx, director, cast.other_company_id, { title: 'Elsewhere' }),
      );
      const asked = [ids[0]!, ids[1]!, foreign.id, crypto.randomUUID()].join(',');
      const { text } = await member.get(`${address}?issues=${asked}`);
      expect(new Set(issuesOf(text))).toEqual(new Set([ids[0], ids[1]]));
      expect(issuesOf((await member.get(address)).text)).toEqual([]);
      const tooMany = Array.from({ length: 101 }, () => ids[0]!).join(',');
      for (const wrong of ['first', tooMany]) {
        const refused = await member.get(`${address}?issues=${wrong}`);
        expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('up to 100 ids')]);
      }
    },
  );

  it('gives pages of the previous release the single row and card that they ask for', async () => {
    const member = Browser.of(app, cast.member);
    for (const part of ['row', 'card']) {
      const { text } = await member.get(`/issues/${ids[0]}/${part}`);
      expect(text.match(/data-issue="[^"]+"/g)).toEqual([`data-issue="${ids[0]}"`]);
    }
  });

  it('shows the issues alone once the last other column is hidden, and stays so', async () => {
    const member = Browser.of(app, cast.member);
    const headings = (text: string): number => [...text.matchAll(/<th[ >]/g)].length;
    const one = await member.get(`${list}?columns=status`);
    const [, hiding] = /href="([^"]*)"\s+aria-current="true"\s*>status</.exec(one.text)!;
    const none = await member.get(hiding!.replaceAll('&#61;', '='));
    expect([titlesOf(none.text).length, headings(none.text)]).toEqual([3, headings(one.text) - 1]);
    // By filtering and by coming back, too.
    expect(none.text).toContain('name="columns" value="none"');
    expect(headings((await member.get(list)).text)).toBe(headings(none.text));
  });

  it('gives rows with the columns that the page shows', async () => {
    const { text } = await Browser.of(app, cast.member).get(
      `${list}/part/rows?issues=${ids[0]}&columns=project`,
    );
    expect(text.trim()).toMatch(/^<tr /);
    expect([text.includes('data-label="Project"'), text.includes('data-label="Status"')]).toEqual([
      true,
      false,
    ]);
  });
});

describe('views', () => {
  it('are kept under a name, shared, and deleted', async () => {
    const [member, other] = [Browser.of(app, cast.member), Browser.of(app, cast.admin)];
    const made = await member.post(`/companies/${cast.company_id}/views?priority=low&sort=title`, {
      name: 'Someday',
      layout: 'list',
      shared: '',
    });
    expect(made.headers.location).toBe(`${list}?priority=low&sort=title&done=kept`);
    const shown = await member.get(made.headers.location!);
    expect(titlesOf(shown.text)).toEqual(['Bind the books']);
    expect(shown.text).toMatch(/aria-current="page"\s*>Someday</);
    const [, id] = /\/views\/([0-9a-f-]{36})\/shared/.exec(shown.text)!;
    expect((await other.get(list)).text).not.toContain('Someday');
    expect((await other.post(`/views/${id!}/delete`)).status).toBe(404);
    await member.post(`/views/${id!}/shared`, { shared: 'on' });
    expect((await other.get(list)).text).toContain('Someday');
    for (const layout of ['list', 'board']) {
      const kept = await member.post(`/companies/${cast.company_id}/views?priority=high`, {
        layout,
        name: layout,
      });
      expect((await member.get(kept.headers.location!)).text).toContain('The view has been saved.');
    }
    await member.post(`/views/${id!}/delete`);
    expect((await member.get(`${list}?all=yes`)).text).not.toContain('Someday');
  });
});

it('says in the reader’s language what was done to how many', async () => {
  const member = Browser.of(app, cast.member);
  const german = { 'Accept-Language': 'de' };
  const form = { issue: ids.slice(0, 2), status: 'todo' };
  const { text } = await member.post(`${list}/changes`, form, german);
  expect(text).toContain('<span>2 Vorgänge geändert.</span>');
  const again = { issue: ids.slice(0, 2), status: 'backlog' };
  expect((await member.post(`${list}/changes`, again)).text).toContain('<span>2 issues changed.</span>');
});

it('a view whose name is refused can be sent again, and still has its filter', async () => {
  const member = Browser.of(app, cast.member);
  const path = `/companies/${cast.company_id}/views?priority=low&sort=title`;
  const refused = await member.post(path, { name: ' ', layout: 'list', shared: '' });
  expect(refused.status).toBe(400);
  const form = pageForms(refused.text).find(({ values }) => 'name' in values)!;
  expect(form.action).toBe(path);
  const { name: _, ...rest } = form.values;
  const kept = await member.post(form.action, { ...rest, name: 'Later' });
  expect(kept.headers.location).toBe(`${list}?priority=low&sort=title&done=kept`);
});

describe('the board', () => {
  it('gives the cards of a column from where it was left, and refuses a bad place', async () => {
    const member = Browser.of(app, cast.member);
    const part = `/companies/${cast.company_id}/board/part`;
    expect((await member.get(`${part}/backlog?priority=low`)).text).toContain('Bind the books');
    expect((await member.get(`${part}/backlog?cursor=nonsense`)).status).toBe(400);
    expect((await member.get(`${part}/nowhere`)).status).toBe(404);
  });

  it('counts its columns, with the filter of the page', async () => {
    const member = Browser.of(app, cast.member);
    const part = `/companies/${cast.company_id}/board/part/cards`;
    const counts = async (query: string): Promise<(string | undefined)[][]> => {
      const { text } = await member.get(`${part}?${query}`);
      return [...text.matchAll(/data-status="(\w+)"\s+value="(\d+)"/g)].map(([, of, number]) => [of, number]);
    };
    const low = await counts('q=Bind+the+books');
    expect(low).toEqual([['backlog', '1']]);
    expect(await counts('q=nothing+like+it')).toEqual([]);
    expect((await counts('')).every(([, number]) => Number(number) > 0)).toBe(true);
  });
});

describe('the search for everything', () => {
  it('is a page, and the answers of the palette', async () => {
    const viewer = Browser.of(app, cast.viewer);
    const path = `/companies/${cast.company_id}/find?q=paper`;
    const shown = await viewer.get(path);
    expect(shown.text).toMatch(/<h2>Issues<\/h2>[\s\S]*Order paper/);
    expect((await viewer.get(`/companies/${cast.company_id}/find?q=nothing+like+it`)).text).toContain(
      'Nothing found',
    );
    const answers = await viewer.get(path, { 'HX-Request': 'true' });
    expect(answers.text.trim()).toMatch(/^<a\s+role="option"\s+id="found-[^"]*"\s+href="\/issues\//);
    expect(answers.text).not.toContain('<html');
  });

  it('says how many issues there are beyond those it shows, up to a hundred, and leads to them', async () => {
    const viewer = Browser.of(app, cast.viewer);
    const add = async (count: number) =>
      transaction(database, async (tx) => {
        for (let made = 0; made < count; made++)
          await createIssue(tx, systemActor('tests'), cast.company_id, { title: `Varnish ${made}` });
      });
    const path = `/companies/${cast.company_id}/find?q=varnish`;
    const all = `href="/companies/${cast.company_id}/issues?q&#61;varnish"`;
    await add(8);
    expect((await viewer.get(path)).text).not.toContain('Show all');
    await add(3);
    const { text } = await viewer.get(path);
    expect(text).toContain('8 of 11 by title');
    expect(text.replaceAll('=varnish"', '&#61;varnish"')).toContain(all);
    expect((await viewer.get(path, { 'HX-Request': 'true' })).text).toContain('All 11 issues');
    await add(90);
    expect((await viewer.get(path)).text).toContain('8 of 100+ by title');
  });
});
