import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { Gitlab } from './gitlab.ts';

const OWN = 7;
const request = (iid: number, source_project_id: number | null, more: object = {}) => ({
  iid,
  web_url: `https://gitlab.example.com/harbour/shop/-/merge_requests/${iid}`,
  title: `Number ${iid}`,
  state: 'opened',
  sha: 'a'.repeat(40),
  source_branch: 'HAR-1-a-shop',
  source_project_id,
  target_project_id: OWN,
  ...more,
});

let listed: ReturnType<typeof request>[] = [];
let approvals: object = {};
const asked: { url: string; token: unknown }[] = [];
/** Requests sent with a body. */
const sent: { method: string; url: string; body: unknown }[] = [];
const server = createServer((incoming, response) => {
  void answer(incoming, response);
});

async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const { url = '', method = '', headers } = incoming;
  asked.push({ url, token: headers['private-token'] });
  if (method !== 'GET') sent.push({ method, url, body: await json(incoming) });
  const [, iid] = /merge_requests\/(\d+)(?:\/merge)?$/.exec(url) ?? [];
  const told = url.endsWith('/approvals')
    ? approvals
    : iid
      ? listed.find((each) => String(each.iid) === iid)
      : method === 'POST'
        ? listed[0]
        : pageOf(url);
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(told));
}
function pageOf(url: string): typeof listed {
  const { searchParams: query } = new URL(url, 'http://gitlab');
  const size = Number(query.get('per_page'));
  const before = (Number(query.get('page')) - 1) * size;
  return listed.slice(before, before + size);
}

let gitlab: Gitlab;
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const api_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v4`;
  const place = { provider: 'gitlab', api_url, repository: 'harbour/shop' };
  gitlab = new Gitlab({ repository_apis: [], repository_egress: 'any', repository_hosts: [] }, place, {
    secret: 'a-token',
    list: null,
  });
});
afterAll(() => {
  server.close();
});
beforeEach(() => {
  approvals = { approved: false, approved_by: [] };
  asked.length = 0;
  sent.length = 0;
});

const find = async () => gitlab.find('HAR-1-a-shop', AbortSignal.timeout(5000));

describe('the merge request of a branch', () => {
  it('is the repository’s own: a fork has branches of any name', async () => {
    listed = [request(1, 99), request(2, null)];
    expect(await find()).toBeUndefined();
    listed.push(request(3, OWN));
    expect(await find()).toMatchObject({ number: 3, state: 'open', review_state: 'pending' });
    expect(asked[0]).toEqual({
      url: '/api/v4/projects/harbour%2Fshop/merge_requests?state=opened&source_branch=HAR-1-a-shop&per_page=100&page=1',
      token: 'a-token',
    });
  });

  it('is found behind hundreds from forks, each of which anyone may open', async () => {
    listed = Array.from({ length: 250 }, (_, n) => request(n + 1, 99));
    expect(await find()).toBeUndefined();
    listed.push(request(300, OWN));
    expect(await find()).toMatchObject({ number: 300 });
    listed = Array.from({ length: 4000 }, (_, n) => request(n + 1, 99));
    await expect(find()).rejects.toThrow('a list of the server has no end');
  });

  it('is found behind requests whose descriptions are longer than an answer may be', async () => {
    const long = (iid: number) => request(iid, 99, { description: 'x'.repeat(3_000_000) });
    listed = [...[1, 2, 3, 4].map(long), ...Array.from({ length: 130 }, (_, n) => request(n + 5, 99))];
    expect(await find()).toBeUndefined();
    listed.push(request(300, OWN));
    expect(await find()).toMatchObject({ number: 300 });
    listed.unshift(request(400, 99, { description: 'x'.repeat(9_000_000) }));
    await expect(find()).rejects.toThrow('its answer is too large');
  });

  it.each([
    ['no address of a page', { web_url: 'javascript:alert(1)' }],
    ['a title without a word', { title: ' ' }],
    ['a commit that is none', { sha: '../../user' }],
  ])('with %s is no answer of a server', async (_, more) => {
    listed = [request(3, OWN, more)];
    await expect(find()).rejects.toThrow('the server’s answer can’t be read');
  });

  it('is approved by somebody, not for want of anybody', async () => {
    listed = [request(3, OWN)];
    approvals = { approved: true, approved_by: [] };
    expect(await find()).toMatchObject({ review_state: 'pending' });
    approvals = { approved: true, approved_by: [{ user: { username: 'mary' } }] };
    expect(await find()).toMatchObject({ review_state: 'approved' });
    approvals = { approvals_left: 1, approved_by: [{ user: { username: 'mary' } }] };
    expect(await find()).toMatchObject({ review_state: 'pending' });
    approvals = { approvals_left: 0, approved_by: [{ user: { username: 'mary' } }] };
    expect(await find()).toMatchObject({ review_state: 'approved' });
    listed = [request(3, OWN, { detailed_merge_status: 'requested_changes' })];
    expect(await find()).toMatchObject({ review_state: 'changes_requested' });
  });

  it('is opened as a draft by its title, and merged at the commit that was seen, into one where that is wanted', async () => {
    listed = [request(3, OWN)];
    const wanted = {
      title: 'A shop',
      body: 'So that we sell.',
      branch: 'HAR-1-a-shop',
      base: 'main',
      draft: true,
    };
    expect(await gitlab.open(wanted, AbortSignal.timeout(5000))).toMatchObject({ number: 3, state: 'open' });
    await gitlab.merge(3, 'a'.repeat(40), 'squash', AbortSignal.timeout(5000));
    const at = '/api/v4/projects/harbour%2Fshop/merge_requests';
    expect(sent).toEqual([
      {
        method: 'POST',
        url: at,
        body: {
          title: 'Draft: A shop',
          description: 'So that we sell.',
          source_branch: 'HAR-1-a-shop',
          target_branch: 'main',
        },
      },
      { method: 'PUT', url: `${at}/3/merge`, body: { sha: 'a'.repeat(40), squash: true } },
    ]);
  });
});
