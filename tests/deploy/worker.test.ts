/** The worker's image: what its Dockerfile puts in /app, started by its command. */
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { configReference } from '@acp/kernel';
import {
  type FakeControlPlane,
  fakeTaskPayload,
  type FakeModel,
  spawnService,
  startFakeControlPlane,
  startFakeModel,
  waitFor,
} from '@acp/testkit';
import { assignments, imageEnvironment, readDockerfile, readText, readUnit } from './files.ts';
import { assembleTree } from './image-tree.ts';

const instructions = readDockerfile('deploy/worker/Dockerfile');
const image = imageEnvironment(instructions);
const known = new Set(configReference().map(({ name }) => name));
const only = (name: string) => instructions.filter((each) => each.name === name).map(({ text }) => text);

describe('the worker’s files', () => {
  it('name only variables that the configuration knows, and drain before they are killed', () => {
    const unit = readUnit('deploy/systemd/agent-control-plane-worker.service');
    const own = assignments((unit.get('Environment') ?? []).join(' '), / /);
    const given = assignments(readText('deploy/systemd/worker.example'), /\n/);
    const names = [...Object.keys(image), ...Object.keys(own), ...Object.keys(given)];
    expect(names.filter((name) => !known.has(name) && !['PATH', 'NODE_ENV'].includes(name))).toEqual([]);
    expect(Number(unit.get('TimeoutStopSec')![0])).toBeGreaterThan(Number(own.SERVICE_DRAIN_TIMEOUT_SEC));
  });

  it('hold no secret, and end without privileges', () => {
    expect(only('USER')).toEqual(['1000:1000']);
    expect(Object.keys(image).filter((name) => /KEY|PASSWORD|TOKEN/.test(name))).toEqual([]);
  });
});

describe('the worker’s image', () => {
  let tree: string;
  let home: string;
  let model: FakeModel;
  let plane: FakeControlPlane;

  beforeAll(async () => {
    tree = assembleTree(instructions);
    home = await mkdtemp(path.join(tmpdir(), 'acp-worker-home-'));
    model = await startFakeModel({ script: () => 'From the image.' });
    plane = await startFakeControlPlane();
  });
  afterAll(async () => {
    await plane.stop();
    await model.close();
    rmSync(tree, { recursive: true, force: true });
    await rm(home, { recursive: true, force: true });
  });

  it('works off a task with nothing but what is in it, and ends cleanly on SIGTERM', async () => {
    const command = JSON.parse(only('ENTRYPOINT')[0]!) as string[];
    const env = {
      ...image,
      PATH: image.PATH!.replaceAll('/app/', `${tree}/`),
      SERVICE_HOME: home,
      SERVICE_SERVER_URL: plane.url,
      SERVICE_WORKER_KEY: 'a-secret-of-the-operator',
      SERVICE_DEFAULT_LLM_PROVIDER: 'family_compat',
      SERVICE_DEFAULT_LLM_BASE_URL: model.url,
      SERVICE_DEFAULT_LLM_MODEL: 'm',
    };
    const task = plane.queue(fakeTaskPayload());
    const worker = spawnService(env, { command: command.slice(2), cwd: tree });
    await waitFor(() => task.status === 'completed', { timeout_ms: 30_000, what: worker.output() });
    expect(task.result?.summary).toBe('From the image.');
    expect(await worker.stop()).toEqual({ code: 0, signal: null });
    expect(worker.log.filter(({ level }) => level === 'error')).toEqual([]);
  });
});
