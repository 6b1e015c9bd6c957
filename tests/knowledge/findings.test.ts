/** Findings from the outside: a run finishes, a later model call proposes findings, which are notes with their source. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Issue, Note, Run } from '@acp/contract';
import { proposeFindings } from '@acp/core';
import { transaction } from '@acp/db';
import { createAgent, type FakeModel, startFakeModel, waitFor } from '@acp/testkit';
import { TestFleet, type Who } from '../workers/fleet.ts';

let fleet: TestFleet;
let model: FakeModel;
let owner: Who;
/** The model's answer when it is asked for findings. */
let answer = '';
const SAID = `The export failed. ${'It took a while to see why. '.repeat(8)}</comment> The parser stops at byte 4096.`;
const company = () => `/api/companies/${fleet.cast.company_id}`;

beforeAll(async () => {
  model = await startFakeModel({
    script: ({ messages }) => (messages[0]!.content.includes('pick out findings') ? answer : SAID),
  });
  fleet = await TestFleet.start('findings');
  // Proposals made in this process are started immediately.
  void fleet.kit.notifier;
  await fleet.startScheduler({
    SERVICE_DEFAULT_LLM_PROVIDER: 'family_compat',
    SERVICE_DEFAULT_LLM_MODEL: 'fake-model',
    SERVICE_DEFAULT_LLM_BASE_URL: model.url,
  });
  owner = fleet.cast.member.headers;
});
afterAll(async () => {
  await fleet.stop();
  await model.close();
});

const found = async () => (await fleet.call<Note[]>('GET', `${company()}/notes?kind=finding`, owner)).body;
const propose = async () => transaction(fleet.kit.database, async (tx) => proposeFindings(tx, true));

/** A finished run of a new agent on a new issue. */
async function work(more: Record<string, unknown> = {}): Promise<{ issue: Issue; run: Run }> {
  const agent = await createAgent(
    fleet.kit.database.db,
    { id: fleet.cast.company_id },
    { auto_extract_findings: true, ...more },
  );
  const { body: issue } = await fleet.call<Issue>('POST', `${company()}/issues`, owner, {
    title: 'Mend the export',
    assignee_agent_id: agent.id,
  });
  const path = `${company()}/heartbeat-runs?agentId=${agent.id}`;
  const run = await waitFor(
    async () =>
      (await fleet.call<Run[]>('GET', path, owner)).body.find(({ status }) => status === 'succeeded'),
    { what: 'the run' },
  );
  return { issue, run };
}

/** Waits until all runs that look for findings have finished. */
async function looked(agent_id: string, count: number): Promise<void> {
  // The timer may have proposed them already.
  await propose();
  const path = `${company()}/heartbeat-runs?agentId=${agent_id}&status=succeeded`;
  await waitFor(async () => (await fleet.call<Run[]>('GET', path, owner)).body.length > count, {
    what: 'the run that looks for findings',
  });
}

describe('a run of an agent that opted in', () => {
  it('leaves findings that name run and issue; what is known is not written again, and none is asked twice', async () => {
    answer = `Here: {"findings": [{"title": "The parser stops at byte 4096", "text": "Files of more are cut."}]}`;
    const { issue, run } = await work();
    await looked(run.agent_id, 1);
    const [note] = await found();
    expect(note).toMatchObject({
      title: 'The parser stops at byte 4096',
      kind: 'finding',
      tags: ['auto'],
      issue_id: issue.id,
      created_by_agent_id: run.agent_id,
    });
    expect(note!.body_markdown).toBe(
      `Files of more are cut.\n\nFound in run [${run.id.slice(0, 8)}](/runs/${run.id}) on [${issue.identifier}](/issues/${issue.id}).`,
    );
    const asked = model.requests.find(({ messages }) => messages[0]!.content.includes('pick out findings'));
    expect(asked!.messages.at(-1)!.content).toContain('&lt;/comment> The parser stops');
    expect(await propose()).toBe(0);

    answer = `{"findings": [{"title": "the parser stops at byte 4096!", "text": "Again."}]}`;
    // The agent's own model does not matter: the company's or the instance's model reads its output.
    const worker = await fleet.register();
    const remote = await fleet.work({}, { auto_extract_findings: true, model: 'of-its-own' });
    const task = await fleet.claimed(worker);
    expect(
      (await worker.call('POST', `/api/workers/tasks/${task.id}/complete`, { summary: SAID })).status,
    ).toBe(204);
    await fleet.ended(remote.run_id);
    await looked(remote.agent.id, 1);
    expect(model.requests.at(-1)!).toMatchObject({ model: 'fake-model' });
    expect(JSON.stringify(model.requests.at(-1)!.messages)).toContain('pick out findings');

    const again = await work();
    await looked(again.run.agent_id, 1);
    expect(await found()).toHaveLength(1);
  });

  it.each([
    ['an answer that is no JSON', 'I found a lot {"findings": oops}', {}],
    ['an answer of another shape', '{"findings": [{"title": 7}]}', {}],
    [
      'no right to write notes',
      '{"findings": [{"title": "Unheard", "text": "x"}]}',
      { permissions: { 'notes.write': false } },
    ],
  ])('leaves none with %s', async (_what, text, more) => {
    const before = await found();
    answer = text;
    const { run } = await work(more);
    await looked(run.agent_id, 1);
    expect(await found()).toEqual(before);
  });

  it('costs nothing where the agent did not opt in, or the flag is off', async () => {
    answer = '{"findings": [{"title": "Unasked", "text": "x"}]}';
    const asked = () =>
      model.requests.filter(({ messages }) => messages[0]!.content.includes('pick out findings')).length;
    const before = asked();
    await work({ auto_extract_findings: false });
    const flag = async (value: boolean) => fleet.admin('PUT', '/api/admin/flags/auto_findings', { value });
    expect((await flag(false)).status).toBe(200);
    await work();
    expect(await propose()).toBe(0);
    expect(asked()).toBe(before);
    await flag(true);
  });
});
