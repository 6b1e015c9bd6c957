import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Workspace } from '@acp/contract';
import { fakeCliCommand, fakeCliJournal, type FakeCliCall, waitFor, needsBubblewrap } from '@acp/testkit';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { killScheduler } from './api.ts';
import { type BranchStory, stageBranchStory, StoryIssue } from './branch-story.ts';

/** The service inspects an agent's folder only from within a sandbox. */
const withBubblewrap = await needsBubblewrap(describe);

let story: BranchStory;

/** The agent's program call by call: the second dies with its scheduler. */
const calls: FakeCliCall[] = [
  {
    sh: 'sed -i s/two/TWO/ src/cart.ts; git commit -qam "Louder"',
    texts: ['Louder now.\n\n/write-file notes/cart.md\n```\n# The cart\n```'],
  },
  { sh: 'echo "half of it" >> src/cart.ts', hang: 'stubborn' },
  { sh: 'sed -i s/TWO/Two/ src/cart.ts; git commit -qam "Not so loud"' },
];

beforeAll(async () => {
  story = await stageBranchStory('git_story', async (folder) => {
    const script = path.join(folder, 'script.json');
    await writeFile(script, JSON.stringify({ calls }));
    const command = fakeCliCommand('a', script).map((word) => `"${word}"`);
    return { SERVICE_CLI_A_COMMAND: command.join(' ') };
  });
});
afterAll(async () => story.close());

withBubblewrap('an issue', () => {
  it('becomes a branch, a review, a second run over a killed scheduler, a pull request, and done by its merge', async () => {
    const { api, server, github } = story;
    const first = await story.startScheduler();
    const agent = { adapter_type: 'cli_a_local' };
    const told = await StoryIssue.assign(story, agent, 'grep -q Two src/cart.ts');
    await told.ended(1);
    const workspace = await api.call<Workspace>('GET', told.workspace);
    expect(workspace).toMatchObject({ state: 'ready', commit_count: 2, check_status: 'failed' });
    expect(await told.diff()).toMatchObject([
      { path: 'notes/cart.md', patch: '@@ -0,0 +1 @@\n+# The cart\n' },
      { path: 'src/cart.ts', patch: expect.stringContaining('+TWO') },
    ]);

    // A person reviews it, comments on a line, and sends it back.
    await told.sendBack('TWO', 'No need to shout.');
    const journal = async () => fakeCliJournal(told.home);
    await waitFor(async () => (await journal()).length === 2, {
      what: 'the second call',
    });
    const second = (await journal())[1]!;
    expect(second.stdin).toContain('No need to shout.');
    // It notes its call before it begins to work.
    const file = path.join(told.tree, 'src/cart.ts');
    await waitFor(async () => (await readFile(file, 'utf8')).includes('half of it'), {
      what: 'half of its work',
    });
    await killScheduler(story.db, first);
    await story.startScheduler();
    await told.ended(2);
    const after = await api.call<Workspace>('GET', told.workspace);
    expect(after).toMatchObject({ check_status: 'passed', error: null });

    expect(await told.act('pull-request')).toMatchObject({ status: 'done', error: null });
    const product = { type: 'pull_request', status: 'active', provider: 'github' };
    expect(await told.product()).toMatchObject(product);

    // Someone approves it at the host, which sends a webhook.
    const sayOf = await told.openWebhook();
    github.reviews.push({ state: 'APPROVED', user: { login: 'mary' } });
    await sayOf({ pull_request: { head: { ref: workspace.branch } } });
    const reviewed = async () => (await api.call<Workspace>('GET', told.workspace)).review_state;
    await waitFor(async () => (await reviewed()) === 'approved', { what: 'the approval' });
    expect(await told.act('merge')).toMatchObject({ status: 'done', error: null });
    await told.done();
    expect(await server.git('show', 'main:src/cart.ts')).toBe('one\nTwo\nthree\nhalf of it');
    expect(await server.git('show', 'main:notes/cart.md')).toBe('# The cart');
    expect(github.complaints).toEqual([]);
  });
});
