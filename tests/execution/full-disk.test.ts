/** A program that writes without end, beside one that does its work. */
import { lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findRun, findWorkspace, listRunEvents, triggerIssue } from '@acp/core';
import { transaction } from '@acp/db';
import * as kit from '@acp/testkit';
import { type PoolStage, startPool } from './pool-stage.ts';

const withBubblewrap = await kit.needsBubblewrap(describe);

const MB = 1_000_000;
/** What the disk of the test has, and must keep. */
const [SIZE, LIMIT] = [100 * MB, 64 * MB];

/** The first run writes some work, the second one more than there is, the third one looks. Others wait to be told. */
const fill = 'while :; do head -c 1000000 /dev/zero >> big; sleep 0.01; done';
const wait = 'echo well > result.txt; while [ ! -e go ]; do sleep 0.05; done; rm go';
const as = (greedy: string) => ({
  sh: `case "$SERVICE_AGENT_NAME" in Greedy) ${greedy};; *) ${wait};; esac`,
});
const calls: kit.FakeCliCall[] = [
  as('echo mine > mine.txt'),
  as(`echo lost > mine.txt; ${fill}`),
  as('ls > seen.txt; cat mine.txt >> seen.txt'),
];

let stage: PoolStage;
let db: PoolStage['db'];
let folder: string;
let pool: PoolStage['pool'];

function sizeOf(place: string): number {
  return readdirSync(place, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name === 'big')
    .reduce((total, { parentPath }) => {
      const found = lstatSync(path.join(parentPath, 'big'), { throwIfNoEntry: false });
      return total + (found?.blocks ?? 0) * 512;
    }, 0);
}

beforeAll(async () => {
  stage = await startPool('full_disk', {
    calls,
    variables: { SERVICE_WORKSPACE_MIN_FREE: String(LIMIT) },
    free: (home) => SIZE - sizeOf(home),
  });
  ({ db, folder, pool } = stage);
});
afterAll(async () => stage.stop());

withBubblewrap('a program that writes without end', () => {
  it('is ended alone, nothing of it stays, and the next run begins with what was stored before', async () => {
    const tx = db.database.db;
    const company = await kit.createCompany(tx);
    const human = kit.actors.board(company);
    const scene = async (name: string) => {
      const agent = await kit.createAgent(tx, company, { name, adapter_type: 'cli_a_local' });
      const issue = await kit.createIssue(tx, company, { assignee_agent_id: agent.id });
      const place = path.join(folder, 'home', 'companies', company.id, 'workspaces', issue.id);
      const begin = async () => {
        const { id } = await transaction(db.database, async (t) => triggerIssue(t, human, issue));
        expect(await pool.claimOne()).toBe(true);
        return id;
      };
      return { agent, issue, place, begin };
    };
    const ended = async (id: string) =>
      kit.waitFor(async () => {
        const run = await findRun(tx, id);
        return run === undefined || run.finished_at === null ? undefined : run;
      });
    const text = (...names: string[]) => readFileSync(path.join(...names), 'utf8');
    const [greedy, other] = [await scene('Greedy'), await scene('Other')];

    expect(await ended(await greedy.begin())).toMatchObject({ status: 'succeeded' });
    const modest = await other.begin();
    await kit.waitFor(() => text(other.place, 'tree', 'result.txt') === 'well\n');
    const second = await greedy.begin();
    const failed = await ended(second);
    expect(failed).toMatchObject({ status: 'failed', error_category: 'permanent' });
    expect(failed.error).toMatch(
      /^the program was ended: it wrote \d+ MB to a disk with less than 64 MB left/,
    );
    const events = await listRunEvents(tx, human, second);
    const said = events.map(({ payload }) => (payload as { message?: string }).message ?? '');
    expect(said).toContainEqual(expect.stringMatching(/^the program was ended: it wrote/));
    expect(said).toContainEqual(
      expect.stringMatching(/^nothing that the run left in its workspace is stored/),
    );

    expect(sizeOf(path.join(folder, 'home'))).toBe(0);
    const left = readdirSync(greedy.place).find((name) => name.startsWith('left-'));
    expect(text(greedy.place, left ?? '', 'mine.txt')).toBe('lost\n');
    expect(await findRun(tx, modest)).toMatchObject({ status: 'running' });
    writeFileSync(path.join(other.place, 'tree', 'go'), '');
    expect(await ended(modest)).toMatchObject({ status: 'succeeded' });
    expect(await findWorkspace(tx, other.issue)).toMatchObject({ error: null, file_count: 1 });

    expect(await ended(await greedy.begin())).toMatchObject({ status: 'succeeded' });
    expect(text(greedy.place, 'tree', 'seen.txt')).toBe('mine.txt\nseen.txt\nmine\n');
    expect(await findWorkspace(tx, greedy.issue)).toMatchObject({ error: null, file_count: 2 });
  });
});
