/** (g) Overhead of the Model Context Protocol: a tool call compared to the endpoint behind it, one at a time. */
import { cloneDatabase } from '@acp/testkit';
import type { BenchOptions, Report } from './report.ts';
import { createScene } from './scene.ts';
import { processorMs, startWeb } from './service.ts';
import { median } from './statistics.ts';

const AIM_MS = 5;

export async function benchMcp(report: Report, options: BenchOptions): Promise<void> {
  report.section('(g) Tools of the Model Context Protocol against the endpoints behind them');
  const database = await cloneDatabase('bench_mcp');
  const { company_id, issue_ids, agent_key } = await createScene(database, { agents: 10, issues: 200 });
  const service = await startWeb(database);
  const headers = { authorization: `Bearer ${agent_key}`, 'content-type': 'application/json' };
  const get = async (path: string) => timed(async () => fetch(service.url + path, { headers }));
  const rpc = async (method: string, params: object) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    return timed(async () => fetch(`${service.url}/mcp/${company_id}`, { method: 'POST', headers, body }));
  };
  const issue = issue_ids[0]!;
  const acts = {
    get_issue: { path: `/api/issues/${issue}`, input: { issue } },
    list_issues: { path: `/api/companies/${company_id}/issues?limit=50`, input: { limit: 50 } },
  };
  try {
    const rounds = options.smoke ? 100 : 1000;
    for (const [name, { path, input }] of Object.entries(acts)) {
      const call = async () => rpc('tools/call', { name, arguments: input });
      for (let warm = 0; warm < 50; warm += 1) await Promise.all([get(path), call()]);
      const bare = new Calls(service.pid);
      const wrapped = new Calls(service.pid);
      for (let round = 0; round < rounds; round += TURN) {
        await bare.add(async () => get(path));
        await wrapped.add(call);
      }
      report.add({
        name: `${name} by MCP: beyond the endpoint`,
        value: wrapped.median - bare.median,
        unit: 'ms',
        aim: { at_most: AIM_MS },
        conditions: `${wrapped.median.toFixed(2)} and ${bare.median.toFixed(2)} ms, medians of ${rounds} calls in turn`,
      });
      report.add({
        name: `${name} by MCP: processor time beyond the endpoint`,
        value: wrapped.processor_ms - bare.processor_ms,
        unit: 'ms',
        aim: { at_most: AIM_MS },
        conditions: `${wrapped.processor_ms.toFixed(2)} and ${bare.processor_ms.toFixed(2)} ms a call, of the web process`,
      });
    }
    const listed = [];
    for (let round = 0; round < rounds / 10; round += 1) listed.push(await rpc('tools/list', {}));
    const conditions = `median of ${rounds / 10} calls, one at a time`;
    report.add({
      name: 'tools/list, all of an agent’s tools',
      value: median(listed),
      unit: 'ms',
      conditions,
    });
  } finally {
    await service.stop();
    await database.close();
  }
}

/** Calls per turn: the system reports CPU time in hundredths of a second. */
const TURN = 50;

/** Durations of calls, by the clock and in CPU time of the process. */
class Calls {
  readonly #pid: number;
  readonly #took: number[] = [];
  #spent_ms = 0;

  constructor(pid: number) {
    this.#pid = pid;
  }

  async add(call: () => Promise<number>): Promise<void> {
    const before = await processorMs(this.#pid);
    for (let turn = 0; turn < TURN; turn += 1) this.#took.push(await call());
    this.#spent_ms += (await processorMs(this.#pid)) - before;
  }

  get median(): number {
    return median(this.#took);
  }

  get processor_ms(): number {
    return this.#spent_ms / this.#took.length;
  }
}

/** Milliseconds until the response is read. @throws for a status other than 200, and for a tool's refusal */
async function timed(send: () => Promise<Response>): Promise<number> {
  const began = performance.now();
  const response = await send();
  const text = await response.text();
  const took = performance.now() - began;
  if (response.status !== 200 || text.includes('"isError":true')) throw new Error(text.slice(0, 500));
  return took;
}
