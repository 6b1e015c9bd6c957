import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { waitFor } from '@acp/testkit';
import { bytesWritten, removeWritten } from './written-files.ts';

const KB = 1024;
const MB = KB * KB;
let top: string;
beforeAll(() => {
  top = mkdtempSync('/var/tmp/written-files-');
});
afterAll(() => rmSync(top, { recursive: true, force: true }));

function folder() {
  const here = mkdtempSync(path.join(top, 'f-'));
  const at = (name: string) => path.join(here, name);
  const { dev, ino } = lstatSync(here, { bigint: true });
  const from = (since: number) => [{ here, identity: `${dev}:${ino}`, since }];
  return {
    here,
    from,
    at,
    fill: (name: string, bytes: number) => writeFileSync(at(name), Buffer.alloc(bytes, 1)),
  };
}

/** A moment after everything that was written so far, by the clock of the disk. */
async function now(): Promise<number> {
  const mark = path.join(top, 'mark');
  const time = () => {
    writeFileSync(mark, '');
    return lstatSync(mark).ctimeMs;
  };
  const before = time();
  return waitFor(() => {
    const after = time();
    return after > before ? after : undefined;
  });
}

describe('what was written into a folder', () => {
  it('is what lies on the disk of files changed since: no holes, no older files, each file once', async () => {
    const { from, at, fill } = folder();
    mkdirSync(at('sub'));
    fill('old', MB);
    fill('grown', 64 * KB);
    const since = await now();
    fill('sub/new', 2 * MB);
    linkSync(at('sub/new'), at('again'));
    writeFileSync(at('sparse'), '');
    truncateSync(at('sparse'), 1000 * MB);
    // An earlier date helps nobody.
    utimesSync(at('sub/new'), 0, 0);
    const found = await bytesWritten(from(since));
    expect(found).toBeGreaterThanOrEqual(2 * MB);
    expect(found).toBeLessThan(2.5 * MB);
  });

  it('is nothing that a link leads to, and all that an unreadable folder or a name that is no text hides', async () => {
    const [one, other] = [folder(), folder()];
    const since = await now();
    other.fill('big', 4 * MB);
    symlinkSync(other.here, one.at('link'));
    symlinkSync(other.at('big'), one.at('file'));
    expect(await bytesWritten(one.from(since))).toBe(0);
    const odd = Buffer.concat([Buffer.from(`${one.here}/`), Buffer.from([0xff, 0xfe])]);
    mkdirSync(odd);
    writeFileSync(Buffer.concat([odd, Buffer.from('/big')]), Buffer.alloc(MB, 1));
    mkdirSync(one.at('shut'));
    one.fill('shut/big', MB);
    chmodSync(one.at('shut'), 0);
    expect(await bytesWritten(one.from(since))).toBeGreaterThanOrEqual(2 * MB);
    await removeWritten(one.from(since), 0);
    expect(await bytesWritten(one.from(since))).toBe(0);
    expect(readFileSync(other.at('big'))).toHaveLength(4 * MB);
  });

  it('is nothing under a name that leads to another folder by now', async () => {
    const { from, fill, here } = folder();
    const files = from(await now());
    renameSync(here, `${here}-gone`);
    mkdirSync(here);
    fill('foreign', MB);
    expect(await bytesWritten(files)).toBe(0);
    expect(await removeWritten(files, 0)).toBe(0);
  });

  it('is unlimited if it lies too deep to be looked for, and goes as a whole', async () => {
    const { from, at } = folder();
    const since = await now();
    const deep = Array.from({ length: 230 }, () => 'd').join('/');
    mkdirSync(at(deep), { recursive: true });
    expect(await bytesWritten(from(since))).toBe(Infinity);
    await removeWritten(from(since), 0);
    expect(existsSync(at(deep))).toBe(false);
    expect(await bytesWritten(from(since))).toBe(0);
  });
});

describe('the removal of what was written', () => {
  it('takes the largest files, and small ones only if there are too many', async () => {
    const { here, from, at, fill } = folder();
    mkdirSync(at('many'));
    fill('old', 20 * MB);
    const since = await now();
    fill('settings.json', KB);
    fill('huge', 20 * MB);
    fill('medium', MB);
    const removed = await removeWritten(from(since), 2 * MB);
    expect(removed).toBeGreaterThanOrEqual(20 * MB);
    expect(readdirSync(here).toSorted()).toEqual(['many', 'medium', 'old', 'settings.json']);
    for (let index = 0; index < 300; index += 1) fill(`many/${index}`, 16 * KB);
    await removeWritten(from(since), 2 * MB);
    expect(existsSync(at('medium'))).toBe(false);
    expect(await bytesWritten(from(since))).toBeLessThanOrEqual(2 * MB);
    expect(existsSync(at('old'))).toBe(true);
  });

  it('spares an older file that was renamed or given other rights, and takes one that has grown', async () => {
    const { here, from, at, fill } = folder();
    fill('moved', 20 * MB);
    fill('log', MB);
    const since = await now();
    renameSync(at('moved'), at('model'));
    chmodSync(at('model'), 0o600);
    writeFileSync(at('log'), Buffer.alloc(20 * MB, 1), { flag: 'a' });
    await removeWritten(from(since), 0);
    expect(readdirSync(here)).toEqual(['model']);
  });
});
