import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { newId } from '@acp/kernel';
import { makeWorkspace, placeBody, removeWorkspace, workspaceBytes, workspaceIds } from './workspace.ts';

const MB = 2 ** 20;
const LIMIT = 2 * MB;
const id = newId();

let root: string;
let roots: { home: string; plugin_workspace_root: string };
let workspace: string;
beforeEach(async () => {
  root = mkdtempSync(path.join(tmpdir(), 'acp-plugin-workspaces-'));
  roots = { home: path.join(root, 'home'), plugin_workspace_root: root };
  workspace = await makeWorkspace(roots, id);
});
afterEach(() => void execFileSync('rm', ['-rf', root]));

const plugin = (script: string) => execFileSync('bash', ['-c', script], { cwd: workspace });
const bytes = async () => workspaceBytes(workspace, LIMIT, new AbortController().signal);
const DEEP = `d=$(printf 'd%.0s' $(seq 250)); for n in $(seq 25); do mkdir $d; cd $d; done`;
const LARGE = 'head -c 4M /dev/zero > large';

describe('what a plugin keeps in its workspace', () => {
  it('is counted without holes', async () => {
    plugin('mkdir a; head -c 1M /dev/zero > a/one; truncate -s 1G a/holes');
    expect(await bytes()).toBeGreaterThanOrEqual(MB);
    expect(await bytes()).toBeLessThan(LIMIT);
  });

  it.each([
    ['in a folder whose name is no text', String.raw`mkdir $'\xff' && cd $'\xff' && ${LARGE}`],
    ['in a file whose name is no text', String.raw`head -c 4M /dev/zero > $'\xff'`],
    ['deeper than any path', `${DEEP}; ${LARGE}`],
  ])('counts %s', async (_, script) => {
    plugin(script);
    expect(await bytes()).toBe(Infinity);
  });
});

it('the workspace of a plugin that is gone is removed, however deep', async () => {
  const other = newId();
  await makeWorkspace(roots, other);
  plugin(DEEP);
  for (const each of [id, other]) await removeWorkspace(roots, each);
  expect(readdirSync(root)).toEqual([]);
  expect(await workspaceIds(roots)).toEqual([]);
});

describe('a body that is too long for a line', () => {
  it('is placed beside the latest of those before it', async () => {
    for (let n = 0; n < 60; n += 1) await placeBody(workspace, Buffer.from(`${n}`));
    const last = await placeBody(workspace, Buffer.from('last'));
    expect(readFileSync(path.join(workspace, last), 'utf8')).toBe('last');
    expect(readdirSync(path.join(workspace, '.service-bodies'))).toHaveLength(50);
  });

  it('is placed alone where the plugin has put more names than are read', async () => {
    plugin('mkdir .service-bodies; cd .service-bodies; touch $(seq 1 1100); mkdir inner; touch inner/1');
    const placed = await placeBody(workspace, Buffer.from('one'));
    expect(readdirSync(path.join(workspace, '.service-bodies'))).toEqual([path.basename(placed)]);
  });

  it('replaces a link in place of its folder, and leaves what that leads to', async () => {
    const elsewhere = path.join(root, 'elsewhere');
    plugin(`mkdir ${elsewhere}; touch ${elsewhere}/1; ln -s ${elsewhere} .service-bodies`);
    const placed = await placeBody(workspace, Buffer.from('one'));
    expect(readFileSync(path.join(workspace, placed), 'utf8')).toBe('one');
    expect(readdirSync(elsewhere)).toEqual(['1']);
  });
});
