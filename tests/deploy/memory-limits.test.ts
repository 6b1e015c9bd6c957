import { expect, it } from '@jest/globals';
import { readText } from './files.ts';

const startScript = (): string =>
  (JSON.parse(readText('package.json')) as { scripts: { start: string } }).scripts.start;

it.each([
  ['npm start', startScript],
  ['the web tier’s unit', () => readText('deploy/systemd/agent-control-plane-web.service')],
  ['the scheduler’s unit', () => readText('deploy/systemd/agent-control-plane-scheduler.service')],
  ['the image', () => readText('deploy/container/Dockerfile')],
])('%s limits the young generation, the allocator’s arenas, and what it keeps', (_, text) => {
  // As words of their own, outside of comments.
  const words = text()
    .replaceAll(/^#.*$/gm, '')
    .replaceAll('Environment=', '')
    .split(/[\s",]+/);
  expect(words.filter((word) => /semi-space|MALLOC/.test(word)).toSorted()).toEqual([
    '--max-semi-space-size=8',
    'MALLOC_ARENA_MAX=2',
    'MALLOC_TRIM_THRESHOLD_=131072',
  ]);
});
