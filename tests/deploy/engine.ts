/** The container engine found by `npm run test:image`. */
import { spawnSync } from 'node:child_process';
import type { Environment } from './files.ts';

const cli = (process.env.CONTAINER_CLI ?? '').split(' ');

export const image = process.env.CONTAINER_TEST_IMAGE ?? '';
export const hasCompose = process.env.CONTAINER_TEST_COMPOSE === 'yes';

/** @param env in addition to this process's own */
export function engine(
  args: readonly string[],
  env: Environment = {},
): { status: number | null; out: string } {
  const [program = '', ...own] = cli;
  const { status, stdout, stderr } = spawnSync(program, [...own, ...args], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  return { status, out: `${stdout}${stderr}`.trim() };
}
