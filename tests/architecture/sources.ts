/** All TypeScript files that are tracked by git or untracked but not ignored, with their imports. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

export const root = resolve(import.meta.dirname, '../..');

export interface Source {
  /** `packages/core/src/issues/index.ts` */
  path: string;
  text: string;
  lines: number;
  is_test: boolean;
  /** Bare specifiers as written, relative ones as paths from the root. */
  imports: string[];
}

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s[^'";]*?from\s*'([^']+)'|(?:^|\n)\s*import\s*'([^']+)'|import\(\s*'([^']+)'\s*\)/g;

export function readSources(): Source[] {
  const listed = execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts', '*.mjs', '*.cjs', '*.css'],
    {
      cwd: root,
      encoding: 'utf8',
    },
  );
  return listed
    .split('\n')
    .filter((path) => path !== '')
    .flatMap((path) => {
      try {
        return [read(path)];
      } catch {
        // Deleted in the work tree but not yet in the index.
        return [];
      }
    });
}

function read(path: string): Source {
  const text = readFileSync(join(root, path), 'utf8');
  const imports = [...text.matchAll(IMPORT)].map((match) => {
    const specifier = (match[1] ?? match[2] ?? match[3])!;
    return specifier.startsWith('.') ? relative(root, resolve(root, dirname(path), specifier)) : specifier;
  });
  const is_test =
    path.endsWith('.test.ts') || path.startsWith('tests/') || path.startsWith('packages/testkit/');
  return { path, text, lines: text.split('\n').length - 1, is_test, imports };
}
