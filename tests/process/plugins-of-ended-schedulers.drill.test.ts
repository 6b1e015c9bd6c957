/** What becomes of plugins and MCP programs when a scheduler that runs them ends. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import path from 'node:path';
import type { PluginJob } from '@acp/contract';
import { waitFor } from '@acp/testkit';
import { heldBy, programHolder } from '../plugins/holders.ts';
import { killScheduler } from './api.ts';
import { startPluginTiers, type PluginTiers } from './plugin-tiers.ts';

let tiers: PluginTiers;

beforeEach(async () => {
  tiers = await startPluginTiers({
    SERVICE_MCP_COMMANDS: JSON.stringify({
      memory: {
        command: [process.execPath, path.resolve(import.meta.dirname, '../http/stdio-mcp-server.mjs')],
        readable: [path.resolve(import.meta.dirname, '../../node_modules')],
      },
    }),
  });
});

afterEach(() => tiers.stop());

describe('schedulers', () => {
  it('share the plugins evenly, hand them over when they stop, and take them from one that was killed', async () => {
    const plugins = await Promise.all(Array.from({ length: 4 }, async () => tiers.operator.running()));
    const [first, second] = tiers.schedulers;
    await waitFor(async () => heldBy(tiers.db, [first.pid, second.pid], 2));
    const third = await tiers.startScheduler();
    const calls = tiers.operator.callMeanwhile(plugins[0]!);
    await first.stop();
    await waitFor(async () => heldBy(tiers.db, [second.pid, third.pid], 2));
    await killScheduler(tiers.db, second);
    await waitFor(async () => heldBy(tiers.db, [third.pid]));
    const answers = await calls.stop();
    expect(
      [...answers].filter((answer) => !['200', '503, after 2', '503, after 5'].includes(answer)),
    ).toEqual([]);
    expect(answers).toContain('200');
    for (const plugin of plugins)
      expect(await tiers.operator.result(plugin, 'echo', { text: 'here' })).toMatchObject({ text: 'here' });
    expect(third.log.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('one that is killed in the middle of a plugin’s job leaves no run that never ends', async () => {
    const { db, api, operator, schedulers } = tiers;
    const plugin = await operator.running({ keeps_jobs: true });
    await db.database.pool.query(`update plugin_jobs set next_run_at = now() - interval '1 hour'`);
    const runs = async () => {
      const jobs = await api.call<PluginJob[]>('GET', `/api/plugins/${plugin.id}/jobs`);
      return jobs.flatMap((job) => job.runs);
    };
    await waitFor(async () => (await runs()).length === 1, { what: 'the run' });
    const [first, second] = schedulers;
    const holder = (await heldBy(db, [first.pid]).catch(() => false)) ? first : second;
    await killScheduler(db, holder);
    await waitFor(async () => (await runs()).at(-1)?.status !== 'running', { what: 'the end of the run' });
    expect((await runs()).at(-1)).toMatchObject({
      status: 'failed',
      error: 'the process ended before it answered',
    });
  });

  it('one that is killed with an MCP program leaves it to another, which answers the calls', async () => {
    const { id } = await tiers.api.call<{ id: string }>(
      'POST',
      `/api/companies/${tiers.company_id}/mcp-servers`,
      {
        name: 'memory',
        command: 'memory',
      },
    );
    const refreshed = await tiers.api.call<object>('POST', `/api/mcp-servers/${id}/refresh`);
    expect(refreshed).toMatchObject({ status: 'healthy', last_error: null });
    const remember = async (fact: string) =>
      tiers.api.send('POST', `/api/mcp-servers/${id}/tools/call`, { tool: 'remember', input: { fact } });
    expect(await (await remember('one')).json()).toEqual({ answer: 'one\n' });
    const pid = await programHolder(tiers.db, id);
    const holder = tiers.schedulers.find((each) => each.pid === pid)!;
    await killScheduler(tiers.db, holder);
    let asked = 0;
    await waitFor(async () => (await remember(`after ${(asked += 1)}`)).ok);
    expect(await programHolder(tiers.db, id)).not.toBe(pid);
    // The program keeps its folder wherever it runs on this machine.
    const { answer } = (await (await remember('last')).json()) as { answer: string };
    expect(answer.split('\n').filter((line) => /^(one|last)$/.test(line))).toEqual(['one', 'last']);
  });
});
