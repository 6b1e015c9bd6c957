/** Schedulers that are killed, or frozen, over a push, a pull request and a merge that have already happened at the host. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ActivityEntry } from '@acp/contract';
import { fakeCliCommand, needsBubblewrap, processesIn, waitFor } from '@acp/testkit';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { shortLeases } from './api.ts';
import { type BranchStory, stageBranchStory, StoryIssue } from './branch-story.ts';

/** Agents' commits are read from within a sandbox. */
const withBubblewrap = await needsBubblewrap(describe);

let story: BranchStory;

beforeAll(async () => {
  story = await stageBranchStory('killed_acts', async (folder) => {
    const script = path.join(folder, 'script.json');
    const calls = [{ sh: 'sed -i s/two/TWO/ src/cart.ts; git commit -qam "Louder"', texts: ['Louder now.'] }];
    await writeFile(script, JSON.stringify({ calls }));
    const command = fakeCliCommand('a', script).map((word) => `"${word}"`);
    return { ...shortLeases, SERVICE_CLI_A_COMMAND: command.join(' ') };
  });
});
afterAll(async () => story.close());

withBubblewrap('an act whose scheduler is lost once the host has done it', () => {
  it('is completed by another one, and done once', async () => {
    const { api, doors, github, server } = story;
    let scheduler = await story.startScheduler();
    const told = await StoryIssue.assign(story, { adapter_type: 'cli_a_local' }, 'true');
    await told.ended(1);
    for (const [name, door, request, signal] of [
      ['push', doors.git, /^POST .*git-receive-pack/, 'SIGKILL'],
      ['pull-request', doors.host, /^POST .*\/pulls$/, 'SIGSTOP'],
      ['merge', doors.host, /^PUT .*\/merge$/, 'SIGKILL'],
    ] as const) {
      const held = door.hold(request, 'after');
      const action = await told.request(name);
      await held;
      const lost = scheduler;
      lost.kill(signal);
      door.open();
      const inProgress = await api.send('POST', `${told.workspace}/push`, {});
      expect([inProgress.status, await inProgress.json()]).toEqual([
        409,
        { error: 'another action on the workspace is in progress' },
      ]);
      scheduler = await story.startScheduler();
      expect(await told.finished(action)).toMatchObject({ status: 'done', error: null });
      // A frozen one finds that it has lost the action.
      lost.kill('SIGCONT');
      lost.kill('SIGTERM');
      await lost.ended;
      expect(lost.log.filter(({ level }) => level === 'error')).toEqual([]);
    }
    await told.done();
    expect(github.pulls).toMatchObject([{ state: 'closed' }]);
    const sent = (request: RegExp) => doors.host.came.filter((each) => request.test(each)).length;
    expect([sent(/^POST .*\/pulls$/), sent(/^PUT /)]).toEqual([1, 1]);
    expect(await server.git('show', 'main:src/cart.ts')).toBe('one\nTWO\nthree');
    const activity = await api.call<ActivityEntry[]>(
      'GET',
      `/api/companies/${told.issue.company_id}/activity?entity_type=workspace`,
    );
    const ends = activity.map(({ action }) => action).filter((action) => /_(done|failed)$/.test(action));
    expect(ends.toSorted()).toEqual([
      'workspace.merge_done',
      'workspace.open_pull_request_done',
      'workspace.push_done',
    ]);
    await scheduler.stop();
    await waitFor(() => processesIn(story.folder).length === 1, {
      what: `nothing but the web process, instead of ${processesIn(story.folder).join()}`,
    });
  });
});
