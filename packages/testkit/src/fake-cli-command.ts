import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { FakeCliJournal } from './fake-cli.ts';

/** Program and arguments of a stand-in for one of the CLIs; the script is a JSON file containing a `FakeCliScript`. */
export function fakeCliCommand(kind: 'a' | 'b', script_file: string): string[] {
  const program = path.resolve(import.meta.dirname, 'fake-cli.ts');
  return [process.execPath, '--disable-warning=ExperimentalWarning', program, kind, `--fake=${script_file}`];
}

/** Program and arguments of one that tries to escape its sandbox; it reads on standard input what there is to find. */
export function hostileCommand(): string[] {
  const program = path.resolve(import.meta.dirname, 'hostile-program.ts');
  return [process.execPath, '--disable-warning=ExperimentalWarning', program];
}

/** The calls made so far with this home, oldest first. */
export async function fakeCliJournal(home: string): Promise<FakeCliJournal[]> {
  const text = await readFile(path.join(home, 'fake-cli.jsonl'), 'utf8').catch(() => '');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as FakeCliJournal);
}
