/** What a process loads that it does not run costs memory in each of them. */
import { expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');

/** Of the web tier and of vendors' libraries, what a process has loaded once it has loaded `module`. */
function loadedBy(module: string): string[] {
  const program = `
    import { registerHooks } from 'node:module';
    const urls = [];
    registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) });
    await import(${JSON.stringify(module)});
    console.log(JSON.stringify(urls.filter((url) => /apps.web|node_modules.@?ai/.test(url))));
    process.exit(0);`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: path.join(root, 'apps/launcher'),
    encoding: 'utf8',
  });
  if (stdout === '') throw new Error(stderr);
  return (JSON.parse(stdout) as string[])
    .filter((url) => url.startsWith('file:'))
    .map((url) => path.relative(root, new URL(url).pathname));
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
