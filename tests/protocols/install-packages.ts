import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** From npm, for the time of a test: programs that are no dependency of the project. @param packages with their versions */
export async function installPackages(folder: string, ...packages: string[]): Promise<void> {
  const args = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--ignore-scripts', ...packages];
  await execute('npm', args, { timeout: 100_000 });
}
