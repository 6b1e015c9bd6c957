import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { loadConfig } from '@acp/kernel';
import { testDatabase, testLogger } from '@acp/testkit';
import express from 'express';
import request from 'supertest';
import { type Static, Type } from 'typebox';
import { Errors } from 'typebox/value';
import { createHealthApp } from '../../apps/web/src/health-server.ts';
import { countCall, countRun, showSlots } from '../../apps/scheduler/src/execution/run-metrics.ts';
import { healthRouter } from '../../apps/web/src/health/router.ts';
import { measureRequests } from '../../apps/web/src/http/http-metrics.ts';
import { findProgram, readText, readYaml, root } from './files.ts';

const strict = { additionalProperties: false };
const Text = Type.String({ minLength: 1 });
const Duration = Type.String({ pattern: '^[0-9]+(s|m|h)$' });

/** Prometheus' rule format, as far as our rules use it. */
const Rules = Type.Object(
  {
    groups: Type.Array(
      Type.Object(
        {
          name: Text,
          rules: Type.Array(
            Type.Object(
              {
                alert: Text,
                expr: Text,
                for: Type.Optional(Duration),
                labels: Type.Object(
                  { severity: Type.Enum(['critical', 'warning']), role: Type.Optional(Text) },
                  strict,
                ),
                annotations: Type.Object({ summary: Text, mend: Type.Optional(Text) }, strict),
              },
              strict,
            ),
          ),
        },
        strict,
      ),
    ),
  },
  strict,
);

const Relabel = Type.Object(
  {
    source_labels: Type.Array(Text),
    action: Type.Optional(Type.Literal('keep')),
    regex: Type.Optional(Text),
    target_label: Type.Optional(Text),
  },
  strict,
);
const Scrape = Type.Object(
  {
    scrape_configs: Type.Array(
      Type.Object(
        {
          job_name: Text,
          scrape_interval: Duration,
          metrics_path: Type.Literal('/metrics'),
          authorization: Type.Object({ credentials_file: Text }, strict),
          kubernetes_sd_configs: Type.Array(Type.Object({ role: Type.Literal('pod') }, strict)),
          relabel_configs: Type.Array(Relabel),
        },
        strict,
      ),
    ),
    rule_files: Type.Array(Text),
  },
  strict,
);

const Datasource = Type.Object(
  { type: Type.Literal('prometheus'), uid: Type.Literal('${datasource}') },
  strict,
);
/** A dashboard as Grafana's import accepts it: without an id, the data source chosen by a variable. */
const Dashboard = Type.Object(
  {
    uid: Type.String({ pattern: '^[a-z-]{1,40}$' }),
    title: Text,
    schemaVersion: Type.Integer({ minimum: 36 }),
    refresh: Text,
    time: Type.Object({ from: Text, to: Text }, strict),
    templating: Type.Object(
      {
        list: Type.Tuple([
          Type.Object(
            {
              name: Type.Literal('datasource'),
              type: Type.Literal('datasource'),
              query: Type.Literal('prometheus'),
            },
            strict,
          ),
        ]),
      },
      strict,
    ),
    panels: Type.Array(
      Type.Object(
        {
          id: Type.Integer({ minimum: 1 }),
          type: Type.Literal('timeseries'),
          title: Text,
          datasource: Datasource,
          gridPos: Type.Object(
            { x: Type.Integer(), y: Type.Integer(), w: Type.Integer(), h: Type.Integer() },
            strict,
          ),
          fieldConfig: Type.Object(
            {
              defaults: Type.Object(
                { unit: Text, min: Type.Optional(Type.Number()), max: Type.Optional(Type.Number()) },
                strict,
              ),
              overrides: Type.Array(Type.Never()),
            },
            strict,
          ),
          targets: Type.Array(
            Type.Object({ refId: Text, expr: Text, legendFormat: Text, datasource: Datasource }, strict),
            { minItems: 1 },
          ),
        },
        strict,
      ),
    ),
  },
  strict,
);

const rules = readYaml('deploy/prometheus/alerts.yaml') as Static<typeof Rules>;
const scrape = readYaml('deploy/prometheus/scrape.yaml') as Static<typeof Scrape>;
const dashboard = JSON.parse(readText('deploy/grafana/dashboard.json')) as Static<typeof Dashboard>;

const [job] = scrape.scrape_configs;
/** Labels added by Prometheus and by the relabelling of scrape.yaml. */
const added = new Set([
  'job',
  'instance',
  ...job!.relabel_configs.flatMap((each) => each.target_label ?? []),
]);

let exposed: { name: string; labels: string }[];

beforeAll(async () => {
  const { database } = await testDatabase();
  const config = loadConfig({ SERVICE_METRICS_TOKEN: 'token' });
  const app = createHealthApp(healthRouter({ config, database, streams: () => 0 }), config, testLogger());
  // A series exists only after its first increment.
  countRun('heartbeat', { failure: null }, 1);
  countCall('family_compat', 'transient', 1, { input_tokens: 1, output_tokens: 1 });
  showSlots(5, 1);
  const refusing = express().use(measureRequests, (_request, response) => void response.sendStatus(503));
  await request(refusing).get('/');
  await database.pool.query(
    `insert into scheduler_ticks (scheduler, worker, ticks, errors, started_at) values ('s', 'w', 1, 1, now())`,
  );
  await database.pool.query(
    `insert into instance_settings (key, value) values ('entitlement', jsonb_build_object('until', now()))`,
  );
  // By itself: nobody asks `/readyz` of the processes that the deployment files start.
  const { text } = await request(app).get('/metrics').set('authorization', 'Bearer token').expect(200);
  exposed = [...text.matchAll(/^([a-z0-9_]+)(?:\{(.*)\})? /gm)].map(([, name = '', labels = '']) => ({
    name,
    labels,
  }));
});

/** `name="value"`, or `name=~"pattern"`. */
function meets(labels: string, matcher: string): boolean {
  const [, name, pattern] = /^(\w+)=~"(.*)"$/.exec(matcher) ?? [];
  if (name === undefined) return labels.includes(matcher);
  const value = new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1];
  return value !== undefined && new RegExp(`^(?:${pattern})$`).test(value);
}

/** Selectors of an expression that match no series. */
function unanswered(expr: string): string[] {
  const selectors = [...expr.matchAll(/\b(up|service_[a-z0-9_]+)(?:\{([^}]*)\})?/g)];
  if (selectors.length === 0) return [`nothing of ours in ${expr}`];
  return selectors
    .filter(([, name, matchers = '']) => {
      const own = matchers
        .split(/,\s*/)
        .filter((matcher) => matcher !== '' && !added.has(/^\w+/.exec(matcher)![0]));
      if (name === 'up') return own.length > 0;
      return !exposed.some(
        (series) => series.name === name && own.every((each) => meets(series.labels, each)),
      );
    })
    .map(([selector]) => selector);
}

const exprs = [
  ...rules.groups.flatMap((group) => group.rules.map(({ alert, expr }) => [alert, expr] as const)),
  ...dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const)),
];

describe('what Prometheus and Grafana read', () => {
  it.each([
    ['alerts.yaml', Rules, rules],
    ['scrape.yaml', Scrape, scrape],
    ['dashboard.json', Dashboard, dashboard],
  ])('%s has the shape that it has to have', (_file, schema, content) => {
    expect([...Errors(schema, content)]).toEqual([]);
  });

  it.each(exprs)('%s asks for series that /metrics has', (_title, expr) => {
    expect(unanswered(expr)).toEqual([]);
  });

  it('would not let a series pass that nobody exposes', () => {
    expect(unanswered('service_nothing > 1')).toEqual(['service_nothing']);
    expect(unanswered('service_readyz_check_duration_ms{check="moon"}')).toHaveLength(1);
    expect(unanswered('up{pool="x"}')).toHaveLength(1);
  });

  it('scrapes the pods of the manifests by the job that the rules name', () => {
    expect(job!.job_name).toBe('agent-control-plane');
    expect([...added]).toEqual(['job', 'instance', 'role', 'pod']);
    const used = exprs.flatMap(([, expr]) => [...expr.matchAll(/job="([^"]*)"/g)].map(([, name]) => name));
    expect(new Set(used)).toEqual(new Set([job!.job_name]));
    expect(scrape.rule_files).toEqual(['alerts.yaml']);
  });

  it('lays panels side by side, none over another', () => {
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_cell, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(Math.max(...dashboard.panels.map(({ gridPos }) => gridPos.x + gridPos.w))).toBeLessThanOrEqual(24);
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  });
});

const promtool = findProgram('promtool');
const withPromtool: typeof describe.skip = promtool === undefined ? describe.skip : describe;
const why = promtool === undefined ? ' (skipped: no promtool; Debian’s prometheus has one)' : '';

withPromtool(`the alerts, judged by Prometheus itself${why}`, () => {
  it('fire when a tier is gone, also without a trace, and not before', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'acp-alerts-'));
    for (const file of ['deploy/prometheus/alerts.yaml', 'tests/deploy/alert-cases.yaml'])
      copyFileSync(path.join(root, file), path.join(folder, path.basename(file)));
    const run = (...args: string[]) => {
      const { status, stdout, stderr } = spawnSync(promtool!, args, { cwd: folder, encoding: 'utf8' });
      return { status, said: stdout + stderr };
    };
    expect(run('check', 'rules', 'alerts.yaml')).toMatchObject({ status: 0 });
    expect(run('test', 'rules', 'alert-cases.yaml')).toEqual({
      status: 0,
      said: expect.stringContaining('SUCCESS'),
    });
    rmSync(folder, { recursive: true, force: true });
  });
});
