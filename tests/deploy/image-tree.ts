/** The image's folder /app, built according to the Dockerfile; packages come from this checkout instead of the registry. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync } from 'node:fs';
import path from 'node:path';
import { type Instruction, readText, root } from './files.ts';

const meanings: Record<string, string> = { '**/': '(?:.*/)?', '*': '[^/]*', '.': String.raw`\.` };

function patternOf(glob: string): RegExp {
  return new RegExp(`^${glob.replaceAll(/\*\*\/|[*.]/g, (sign) => meanings[sign]!)}$`);
}

const rules = readText('.dockerignore')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => ({ keep: line.startsWith('!'), pattern: patternOf(line.replace(/^!/, '')) }));

/** Whether the file is in the build context: the last rule that matches it or a folder above it decides. */
export function isInContext(file: string): boolean {
  const above = file.split('/').map((_part, index, parts) => parts.slice(0, index + 1).join('/'));
  const rule = rules.findLast(({ pattern }) => above.some((each) => pattern.test(each)));
  return rule === undefined || rule.keep;
}

/** Paths that COPY takes from the context, in order. */
export function copies(instructions: readonly Instruction[]): { source: string; target: string }[] {
  return instructions
    .filter(({ name, text }) => name === 'COPY' && !text.startsWith('--from='))
    .flatMap(({ text }) => {
      const words = text.split(' ');
      const target = words.pop()!;
      return words.map((source) => ({ source, target: target === './' ? source : target }));
    });
}

/** The packages in node_modules that `npm ci` with these arguments would install. */
function production(args: readonly string[]): string[] {
  const { stdout } = spawnSync('npm', ['ls', '--all', '--parseable', ...args], {
    cwd: root,
    encoding: 'utf8',
  });
  return stdout
    .split('\n')
    .filter((line) => line.includes('/node_modules/') && !line.includes('/node_modules/@acp/'))
    .map((line) => path.relative(root, line));
}

function installInto(tree: string, args: readonly string[]): void {
  const packages = production(args);
  // A package includes whatever is in its own node_modules.
  const outer = packages.filter((each) => !packages.some((other) => each.startsWith(`${other}/`)));
  if (outer.length === 0) throw new Error('npm ls lists no package');
  // Hard-linked if possible: deleting files in the tree leaves the originals in place.
  const copy = (how: string) =>
    spawnSync('cp', [how, '--parents', ...outer, tree], { cwd: root, encoding: 'utf8' });
  if (copy('-al').status !== 0) {
    const { status, stderr } = copy('-a');
    if (status !== 0) throw new Error(stderr);
  }
  for (const folder of ['.bin', '@acp']) {
    cpSync(path.join(root, 'node_modules', folder), path.join(tree, 'node_modules', folder), {
      recursive: true,
      verbatimSymlinks: true,
    });
  }
}

/** Built inside the checkout, so that packages can be linked. @returns the folder that stands for /app */
export function assembleTree(instructions: readonly Instruction[]): string {
  mkdirSync(path.join(root, '.build'), { recursive: true });
  const tree = mkdtempSync(path.join(root, '.build/image-'));
  for (const { source, target } of copies(instructions)) {
    cpSync(path.join(root, source), path.join(tree, target), {
      recursive: true,
      filter: (file) => isInContext(path.relative(root, file)),
    });
  }
  const [install, ...others] = instructions.filter(({ name, stage }) => name === 'RUN' && stage === 'build');
  installInto(tree, install!.text.split(' ').slice(2));
  for (const { text } of others) {
    const { status, stderr } = spawnSync('/bin/sh', ['-ec', text], { cwd: tree, encoding: 'utf8' });
    if (status !== 0) throw new Error(`${text}: ${stderr}`);
  }
  return tree;
}
