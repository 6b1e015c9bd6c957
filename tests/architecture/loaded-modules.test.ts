/** Modules that are loaded but not used cost memory in every process. */
import { expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');
const known = new Map<string, string[]>();

/** Files that a process has loaded after importing `module`, and parts of Node.js itself (`node:net`). */
function loadedBy(module: string): string[] {
  const loaded = known.get(module) ?? load(module);
  known.set(module, loaded);
  return loaded;
}

function load(module: string): string[] {
  const program = `
    import { registerHooks } from 'node:module';
    const urls = [];
    registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) });
    await import(${JSON.stringify(module)});
    const ofNode = process.moduleLoadList.map((each) => each.replace('NativeModule ', 'node:'));
    urls.push(...ofNode.filter((each) => each.startsWith('node:')));
    process.stdout.write(JSON.stringify(urls), () => process.exit(0));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: path.join(root, 'apps/launcher'),
    encoding: 'utf8',
    maxBuffer: 2 ** 24,
    env: { ...process.env, NODE_COMPILE_CACHE: path.join(root, '.build/compile-cache') },
  });
  if (stdout === '') throw new Error(stderr);
  return (JSON.parse(stdout) as string[])
    .filter((url) => /^(?:file|node):/.test(url))
    .map((url) => (url.startsWith('node:') ? url : path.relative(root, new URL(url).pathname)));
}

it('a scheduler loads neither pages nor the API, and no vendor’s library before it is used', () => {
  const loaded = [...loadedBy('@acp/scheduler'), ...loadedBy('@acp/web/health')];
  expect(loaded).toContain('apps/web/src/health/router.ts');
  expect(
    loaded.filter((file) =>
      /^apps\/web\/src\/(?:ui|api|mcp|a2a|live)\/|node_modules\/@?ai(?:-sdk)?\//.test(file),
    ),
  ).toEqual([]);
});

it('neither tier loads clients, mail, sign-in, parsers, validators, formatters or image code before using them', () => {
  const heavy =
    /node_modules\/(?:undici|nodemailer|@simplewebauthn|@peculiar|@node-rs|multer|sanitize-html|jimp|highlight\.js|@modelcontextprotocol|@aws-sdk|@opentelemetry\/(?!api\/)|unpdf|yauzl|yaml|markdown-it|openid-client|oauth4webapi|jose|@zxcvbn-ts|typebox\/build\/value)\//;
  const loaded = [...loadedBy('@acp/scheduler'), ...loadedBy('@acp/web')];
  expect(loaded.filter((file) => file.includes('node_modules/')).length).toBeGreaterThan(100);
  expect(loaded.filter((file) => heavy.test(file))).toEqual([]);
});

it("neither tier loads what Node.js itself has for fetching, WebSockets and HTTP/2, as `import 'node:http'` would", () => {
  for (const tier of ['@acp/scheduler', '@acp/web']) {
    const loaded = loadedBy(tier);
    expect(loaded).toContain('node:http');
    expect(loaded.filter((each) => /^node:(?:internal\/deps\/undici|http2)/.test(each))).toEqual([]);
  }
});

it('there is one table of media types: Express and what it is made of would each load their own, half a megabyte', () => {
  const lock = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8')) as { packages: object };
  expect(Object.keys(lock.packages).filter((place) => place.endsWith('/mime-db'))).toHaveLength(1);
});
