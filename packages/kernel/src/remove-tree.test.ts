import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, chownSync, linkSync, mkdirSync, mkdtempSync, readdirSync } from 'node:fs';
import { renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { waitFor } from '@acp/testkit';
import { dropTree } from './safe-files.ts';

const run = promisify(execFile);
const SAFE_FILES = path.join(import.meta.dirname, 'safe-files.ts');
const isRoot = process.getuid?.() === 0;
const NOBODY = 65_534;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'remove-tree-'));
  chmodSync(folder, 0o777);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** In a process of its own. */
const dropElsewhere = async (name: string, flags: string[] = [], before = '') =>
  run(process.execPath, [
    ...flags,
    '--input-type=module',
    '-e',
    `const { dropTree } = await import(${JSON.stringify(SAFE_FILES)});
     ${before}
     await dropTree(${JSON.stringify(folder)}, ${JSON.stringify(name)});`,
  ]);

describe('a folder left by a program is removed', () => {
  it('with more entries than fit into memory', async () => {
    const wide = path.join(folder, 'wide');
    mkdirSync(wide);
    for (let n = 0; n < 80_000; n += 1) {
      const first = path.join(wide, `${n - (n % 20_000)}`);
      if (n % 20_000 === 0) writeFileSync(first, '');
      else linkSync(first, path.join(wide, `${n}`));
    }
    await dropElsewhere('wide', ['--max-old-space-size=40']);
    expect(readdirSync(folder)).not.toContain('wide');
  });

  it('deeper than any path, with names that are no text, without what its links lead to', async () => {
    const script = `mkdir -p odd kept && touch kept/file && cd odd && mkdir $'\\xff' && touch $'\\xff/\\xfe' && ln -s ../kept link
      for n in 1 2 3 4; do d=$(printf 'dd/%.0s' $(seq 690)); mkdir -p $d; cd $d; ln -s "$FOLDER/kept" link; done`;
    execFileSync('bash', ['-c', script], { cwd: folder, env: { ...process.env, FOLDER: folder } });
    await dropTree(folder, 'odd');
    expect(readdirSync(folder).filter((name) => name !== 'kept')).toEqual([]);
    expect(readdirSync(path.join(folder, 'kept'))).toEqual(['file']);
  });

  it('whose rights it took from its owner, as caches of packages are', async () => {
    const own = path.join(folder, 'own');
    const places = ['own', 'own/packages', 'own/packages/one', 'own/shut', 'own/shut/inner'];
    for (const place of places) mkdirSync(path.join(folder, place));
    for (const place of places) writeFileSync(path.join(folder, place, 'file'), '');
    if (isRoot)
      for (const place of places.flatMap((each) => [each, `${each}/file`]))
        chownSync(path.join(folder, place), NOBODY, NOBODY);
    chmodSync(path.join(own, 'packages/one'), 0o500);
    for (const place of ['packages', 'shut']) chmodSync(path.join(own, place), place === 'shut' ? 0 : 0o500);
    chmodSync(own, 0o500);
    await dropElsewhere('own', [], isRoot ? `process.setgid(${NOBODY}); process.setuid(${NOBODY});` : '');
    expect(readdirSync(folder)).not.toContain('own');
  });

  it('while a link to another takes the place of one in it, whose files stay', async () => {
    const files = Array.from({ length: 20_000 }, (_, n) => `${n}`);
    const [bait, others] = [path.join(folder, 'home/bait'), path.join(folder, 'others')];
    for (const place of [bait, others]) {
      mkdirSync(place, { recursive: true });
      for (const name of files) writeFileSync(path.join(place, name), '');
    }
    const dropped = dropTree(folder, 'home');
    await waitFor(() => readdirSync(bait).length < files.length, { interval_ms: 1 });
    renameSync(bait, path.join(folder, 'home/moved'));
    symlinkSync(others, bait);
    await dropped;
    expect(readdirSync(others)).toHaveLength(files.length);
    expect(readdirSync(folder)).not.toContain('home');
  });
});
