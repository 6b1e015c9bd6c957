import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { newId } from '@acp/kernel';
import { readState, type WorkspaceFolder, writeState } from './workspace-folder.ts';

let top: string;

beforeAll(async () => {
  top = await mkdtemp('/var/tmp/workspace-folder-');
});
afterAll(async () => rm(top, { recursive: true, force: true }));

async function placeOfIssue(): Promise<WorkspaceFolder> {
  const folder = path.join(top, newId());
  const place = { folder, tree: path.join(folder, 'tree') };
  await mkdir(place.tree, { recursive: true });
  return place;
}

describe('what is known of a folder', () => {
  it('is what was written last', async () => {
    const place = await placeOfIssue();
    const state = { workspace_id: newId(), version: 3, setup_hash: 'abc' };
    await writeState(place, state);
    expect(await readState(place)).toEqual(state);
  });

  it.each(['', '{"workspace_id":"', 'null', '3', '{"version":1}'])(
    'is nothing after a power cut or a full disk has left %j of it',
    async (text) => {
      const place = await placeOfIssue();
      await writeFile(path.join(place.folder, 'state.json'), text);
      expect(await readState(place)).toBeUndefined();
    },
  );
});
