// The whole story of a branch with the vendors' own programs, over two tiers: an issue, its branch, commits, a line
// comment, a second run, a pull request, its merge, and the issue done.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import path from 'node:path';
import type { Workspace } from '@acp/contract';
import { type FakeVendorModel, startFakeVendorModel, type VendorAnswer } from '@acp/testkit';
import { type BranchStory, stageBranchStory, StoryIssue } from '../process/branch-story.ts';

type Kind = 'a' | 'b';

const bin = path.join(process.env.REAL_CLIS_FOLDER ?? '', 'node_modules/.bin');

let story: BranchStory;
let model: FakeVendorModel;
/** The model's next answers, whoever asks. */
const answers: VendorAnswer[] = [];

beforeAll(async () => {
  model = await startFakeVendorModel(() => answers.shift() ?? 'Done.');
  const settings = [
    'model_provider="fake"',
    'model_providers.fake.name="fake"',
    `model_providers.fake.base_url="${model.url}/v1"`,
    'model_providers.fake.wire_api="responses"',
    'model_providers.fake.env_key="FAKE_KEY"',
  ];
  const command_b = [path.join(bin, 'codex'), ...settings.flatMap((each) => ['-c', `'${each}'`])];
  story = await stageBranchStory('real_story', async () => ({
    SERVICE_CLI_A_COMMAND: path.join(bin, 'claude'),
    SERVICE_CLI_B_COMMAND: command_b.join(' '),
    SERVICE_CLI_ENV_PASSTHROUGH: 'ANTHROPIC_API_KEY,ANTHROPIC_BASE_URL,FAKE_KEY',
    ANTHROPIC_API_KEY: 'key-of-a',
    ANTHROPIC_BASE_URL: model.url,
    FAKE_KEY: 'key-of-b',
    SERVICE_LOCAL_CLI_EGRESS: new URL(model.url).host,
  }));
  await story.startScheduler();
});

afterAll(async () => {
  await story.close();
  await model.close();
});

describe.each<Kind>(['a', 'b'])('an issue in the hands of the real CLI %s', (kind) => {
  it('becomes a branch, a review, a second run, a pull request, and done by its merge', async () => {
    const { api, server, github } = story;
    const [from, shout, word] = kind === 'a' ? ['two', 'TWO', 'Two'] : ['three', 'THREE', 'Three'];
    github.pulls.length = 0;
    github.reviews.length = 0;
    answers.push({ command: `sed -i s/${from}/${shout}/ src/cart.ts && git commit -qam Louder` }, 'Done.');
    const agent = { adapter_type: `cli_${kind}_local`, adapter_config: { model: 'fake-model' } };
    const told = await StoryIssue.assign(story, agent, 'cat src/cart.ts');
    await told.ended(1);
    const file = { path: 'src/cart.ts', patch: expect.stringContaining(`+${shout}`) };
    expect(await told.diff()).toMatchObject([file]);

    answers.push({ command: `sed -i s/${shout}/${word}/ src/cart.ts && git commit -qam Softer` }, 'Done.');
    await told.sendBack(shout, `No shouting, ${kind}.`);
    await told.ended(2);
    expect(JSON.stringify(model.requests.at(-1)!.body)).toContain(`No shouting, ${kind}.`);
    const workspace = await api.call<Workspace>('GET', told.workspace);
    expect(workspace).toMatchObject({
      commit_count: 2,
      check_status: 'passed',
      check_output: expect.stringContaining(word),
    });

    const sayOf = await told.openWebhook();
    expect(await told.act('pull-request')).toMatchObject({ status: 'done', error: null });
    // Merged by a person at the host, which sends a webhook.
    await server.git('update-ref', 'refs/heads/main', `refs/heads/${workspace.branch}`);
    Object.assign(github.pulls[0]!, { state: 'closed', merged_at: new Date().toISOString() });
    const news = { action: 'closed', pull_request: { head: { ref: workspace.branch } } };
    expect(await sayOf(news)).toEqual({ status: 'noted' });
    await told.done();
    expect(await told.product()).toMatchObject({ type: 'pull_request', status: 'merged' });
    expect(await server.git('show', 'main:src/cart.ts')).toContain(word);
    expect(github.complaints).toEqual([]);
  }, 180_000);
});
