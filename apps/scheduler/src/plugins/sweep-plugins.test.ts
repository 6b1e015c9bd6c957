/** What a killed scheduler left of a plugin that has been deleted since: the sweep of the next one on the machine. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { loadConfig, newId } from '@acp/kernel';
import { testDatabase, testLogger } from '@acp/testkit';
import { sweepPlugins } from './sweep-plugins.ts';
import { makeWorkspace } from './workspace.ts';

const { database } = await testDatabase();
const here = newId();
const elsewhere = newId();

let folder: string;
/** Copies of their programs. */
let copies: string[];
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'sweep-plugins-'));
  copies = [here, elsewhere].map((id) => path.join(tmpdir(), `service-plugin-${id}.3.abcdef`));
  for (const copy of copies) await mkdir(copy);
});
afterEach(async () => {
  for (const made of [folder, ...copies]) await rm(made, { recursive: true, force: true });
});

/** An engine in which a container of each runs, and which notes what it is told to do. */
async function standIn(journal: string): Promise<string> {
  const engine = path.join(folder, 'engine');
  const labels = [here, elsewhere].map((id) => JSON.stringify(`service.plugin=${id}.3`)).join('\n');
  await writeFile(engine, `#!/bin/sh\necho "$@" >> ${journal}\n[ "$1" != ps ] || echo '${labels}'\n`);
  await chmod(engine, 0o700);
  return engine;
}

it('copy, container and workspace go; those of a plugin that this instance never ran stay', async () => {
  const journal = path.join(folder, 'journal');
  const workspaces = path.join(folder, 'workspaces');
  const config = loadConfig({
    SERVICE_HOME: path.join(folder, 'home'),
    SERVICE_PLUGIN_WORKSPACE_ROOT: workspaces,
    SERVICE_CONTAINER_CLI: await standIn(journal),
  });
  await makeWorkspace(config, here);
  await makeWorkspace({ home: path.join(folder, 'other'), plugin_workspace_root: workspaces }, elsewhere);

  await sweepPlugins({ config, database, logger: testLogger() } as never);

  const left = (await readdir(tmpdir())).filter((name) => copies.includes(path.join(tmpdir(), name)));
  expect(left).toEqual([path.basename(copies[1]!)]);
  const calls = await readFile(journal, 'utf8');
  expect(calls).toContain(`service-plugin-${here}-3`);
  expect(calls).not.toContain(`service-plugin-${elsewhere}-3`);
  expect((await readdir(workspaces)).toSorted()).toEqual([`.${elsewhere}`, elsewhere].toSorted());
});
