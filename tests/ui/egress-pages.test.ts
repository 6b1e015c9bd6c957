/** @in-order each test goes on with the list of the one before */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { readEgress, recordRefusals } from '@acp/core';
import type { Database } from '@acp/db';
import type { Express } from 'express';
import { type Cast, createCast } from '../http/cast.ts';
import { Browser, startPages } from '../http/pages.ts';

let app: Express;
let database: Database;
let cast: Cast;
let base: string;

beforeAll(async () => {
  ({ app, database } = await startPages({ SERVICE_ENCRYPTION_KEY: 'ab'.repeat(32) }));
  cast = await createCast(database);
  base = `/companies/${cast.company_id}/egress`;
});

const list = async () => readEgress(database.db, cast.company_id);

describe('an admin of a company', () => {
  it('writes the list of hosts, is told of a line that is none, and loses nobody else’s change', async () => {
    const admin = Browser.of(app, cast.admin);
    const refused = await admin.post(base, { hosts: 'a.example\nhttps://b.example/x', version: '0' });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('“https://b.example/x” is none');
    expect(refused.text).toContain('a.example\nhttps://b.example/x</textarea>');
    expect(await list()).toEqual({ hosts: null, version: 0 });
    const saved = await admin.post(base, { hosts: 'A.example, *.npm.example:8443', version: '0' });
    expect(saved.headers.location).toBe(`${base}?done=saved`);
    expect(await list()).toEqual({ hosts: ['*.npm.example:8443', 'a.example'], version: 1 });
    const late = await admin.post(base, { hosts: 'c.example', version: '0' });
    expect(late.status).toBe(409);
    expect(late.text).toContain('changed in the meantime');
  });

  it('sees what was refused and what is set up, and lets out to it by a button', async () => {
    const admin = Browser.of(app, cast.admin);
    const company = `/companies/${cast.company_id}`;
    await admin.post(`${company}/webhooks`, { url: 'https://hook.example:8443/in', events: '*' });
    const place = { host: 'evil"><b>.example', port: 443, times: 3, door: 'program' } as const;
    await recordRefusals(database.db, { company_id: cast.company_id, run_id: null }, [
      place,
      { ...place, host: 'pypi.example' },
    ]);
    const { text } = await admin.get(base);
    expect(text).toContain('hook.example:8443');
    expect(text).toContain('pypi.example');
    expect(text).not.toContain('evil"><b>');
    const added = await admin.post(`${base}/add`, { host: 'hook.example:8443' });
    expect(added.headers.location).toBe(`${base}?done=added`);
    expect((await list()).hosts).toContain('hook.example:8443');
    expect((await admin.get(base)).text).not.toContain('In use, but not allowed');
    const { version } = await list();
    await admin.post(`${base}/delete`, { version: String(version) });
    expect((await list()).hosts).toBeNull();
  });
});

describe('everybody else', () => {
  it('neither sees nor changes it, and no key does', async () => {
    const before = await list();
    const body = { hosts: 'mine.example', version: String(before.version) };
    for (const person of [cast.member, cast.viewer]) {
      const browser = Browser.of(app, person);
      expect((await browser.get(base)).status).toBe(403);
      expect((await browser.post(base, body)).status).toBe(403);
    }
    const stranger = Browser.of(app, cast.stranger);
    expect([(await stranger.get(base)).status, (await stranger.post(base, body)).status]).toEqual([404, 404]);
    expect(await list()).toEqual(before);
  });
});
