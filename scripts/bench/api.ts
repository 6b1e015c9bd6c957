/** (a) The JSON API against a bare Express handler with the same SQL, in short alternating rounds. */
import { cloneDatabase } from '@acp/testkit';
import { forkModule } from './forked.ts';
import { CONNECTIONS, load as fire } from './load.ts';
import type { BenchOptions, Report } from './report.ts';
import { createScene } from './scene.ts';
import type { Scene } from './scene.ts';
import { startWeb } from './service.ts';
import { median } from './statistics.ts';

interface Act {
  name: string;
  aim_percent: number;
  method: 'GET' | 'POST';
  path: (scene: Scene) => string;
  body?: (scene: Scene) => string;
}

const acts: readonly Act[] = [
  {
    name: 'get an issue',
    aim_percent: 80,
    method: 'GET',
    path: ({ issue_ids }) => `/api/issues/${issue_ids[0]}`,
  },
  {
    name: 'list 50 issues',
    aim_percent: 80,
    method: 'GET',
    path: ({ company_id }) => `/api/companies/${company_id}/issues`,
  },
  {
    name: 'create an issue',
    aim_percent: 50,
    method: 'POST',
    path: ({ company_id }) => `/api/companies/${company_id}/issues`,
    body: ({ agent_ids }) =>
      JSON.stringify({
        title: 'Paint the shed behind the house',
        body_markdown: 'It has lost its colour on the side of the weather.',
        assignee_agent_id: agent_ids[1],
      }),
  },
];

export async function benchApi(report: Report, options: BenchOptions): Promise<void> {
  report.section('(a) API against a bare Express handler with the same SQL');
  const database = await cloneDatabase('bench_api');
  const scene = await createScene(database, { agents: 10, issues: 200 });
  const service = await startWeb(database);
  const bare = await forkModule('bare-express.ts', [database.url]);
  const remembering = await forkModule('bare-express.ts', [database.url, '--remember-keys']);
  try {
    const [rounds, seconds] = options.smoke ? [1, 1] : [7, 3];
    for (const act of acts) {
      const { method, path, body } = act;
      const request = { method, path: path(scene), ...(body && { body: body(scene) }) };
      const load = async (url: string): Promise<number> => fire(url, scene.agent_key, [request], seconds);
      // After its first seconds a service has compiled code, connections and plans.
      for (const url of [service.url, bare.greeting, remembering.greeting]) await load(url);
      const ours: number[] = [];
      const ratios: number[] = [];
      const strict: number[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const [mine, theirs, keyless] = [
          await load(service.url),
          await load(bare.greeting),
          await load(remembering.greeting),
        ];
        ours.push(mine);
        ratios.push((100 * mine) / theirs);
        strict.push((100 * mine) / keyless);
      }
      report.add({
        name: `${act.name}: of bare Express`,
        value: median(ratios),
        unit: '%',
        aim: { at_least: act.aim_percent },
        conditions:
          `${median(ours).toFixed(0)} requests/s; median of ${rounds} alternating rounds of ${seconds} s, ` +
          `${CONNECTIONS} connections; ${median(strict).toFixed(0)} % where the bare one remembers keys, too`,
      });
    }
  } finally {
    await Promise.all([service.stop(), bare.stop(), remembering.stop()]);
    await database.close();
  }
}
