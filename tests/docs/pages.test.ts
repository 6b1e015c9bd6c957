/** Everything the pages mention exists: files, variables, commands. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { configReference } from '@acp/kernel';
import { nouns } from '@acp/ctl';
import { sliceOrder } from '../architecture/rules.ts';

const root = resolve(import.meta.dirname, '../..');
const pages = globSync(['README.md', 'docs/**/*.md', 'deploy/**/*.md'], { cwd: root }).toSorted();
const text = (page: string) => readFileSync(resolve(root, page), 'utf8');

const variables = new Set(configReference().map(({ name }) => name));
/** Environment variables of a run's program, which no one sets for the service. */
const ofRuns = new Set(
  [
    'API_KEY',
    'BASE_URL',
    'RUN_ID',
    'AGENT_ID',
    'ISSUE_ID',
    'PLUGIN_ID',
    'COMPANY_ID',
    'PLUGIN_WORKSPACE',
  ].map((name) => `SERVICE_${name}`),
);
const isKnown = (name: string) =>
  ofRuns.has(name) ||
  [...variables].some((each) => each === name || (name.endsWith('_') && each.startsWith(name)));

const { scripts } = JSON.parse(text('package.json')) as { scripts: Record<string, string> };
const commands = new Set(
  Object.entries(nouns).flatMap(([noun, verbs]) =>
    Object.keys(verbs).flatMap((verb) => {
      // For a verb of two words, only the first is matched on the page.
      const [first = ''] = verb.split(' ');
      return [`${noun} ${verb}`.trim(), `${noun} ${first}`.trim()];
    }),
  ),
);

/** The contract also mentions things that a release does not have yet. */
const contractPages = new Set(['docs/specification.md', 'docs/decisions.md']);

describe.each(pages)('%s', (page) => {
  const content = text(page);

  it('links to files that are there', () => {
    const links = [...content.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)].map(([, link]) => link!);
    expect(links.filter((link) => !existsSync(resolve(root, dirname(page), link)))).toEqual([]);
  });

  if (contractPages.has(page)) return;

  it('names variables that the service knows', () => {
    const named = [...content.matchAll(/(?<![A-Z_$<])SERVICE_[A-Z0-9_]+/g)].map(([name]) => name);
    expect([...new Set(named)].filter((name) => !isKnown(name))).toEqual([]);
  });

  it('names commands that there are', () => {
    const run = [...content.matchAll(/npm run ([a-z][\w:-]*)/g)].map(([, script]) => script!);
    expect(run.filter((script) => !Object.hasOwn(scripts, script))).toEqual([]);
    const words = [...content.matchAll(/(?:npm run ctl --|`ctl) ([a-z-]+(?:[ ][a-z]+(?:-[a-z]+)*)?)/g)].map(
      ([, command]) => command!,
    );
    expect(words.filter((each) => !commands.has(each) && !commands.has(each.split(' ')[0]!))).toEqual([]);
  });
});

describe('docs/ARCHITECTURE.md', () => {
  const [, layout = '', slices = '', transactions = ''] =
    /## Layout([^]*?)## Slices([^]*?)## Where transactions open([^]*?)\n## /.exec(
      text('docs/ARCHITECTURE.md'),
    ) ?? [];

  it('lists all packages and apps', () => {
    const folders = globSync('{packages,apps}/*/package.json', { cwd: root }).map(dirname);
    expect(folders.filter((folder) => !layout.includes(`| \`${folder}\` |`))).toEqual([]);
  });

  it('lists the slices in their order', () => {
    const rows = [...slices.matchAll(/^\| [a-z ]+ \| ([a-z].*) \|$/gm)].slice(1).map(([, row]) => row!);
    expect(
      rows
        .join(', ')
        .replaceAll(/ \([^)]*\)/g, '')
        .split(', '),
    ).toEqual([...sliceOrder]);
  });

  it('lists the places where transactions open', () => {
    const places = globSync(['apps/*/src/**/*.ts', 'packages/*/src/**/*.ts'], { cwd: root })
      .filter((path) => !/\.test\.ts$|^packages\/(?:db|testkit|plugin-sdk)\//.test(path))
      .filter((path) => /(?<!tx\.|function )\btransaction\(/.test(text(path)))
      .map((path) => path.replace(/^(?:apps|packages)\/([^/]+)\/src\//, '$1/').replace(/\.ts$/, ''));
    // Files directly in the scheduler's folder are its timers.
    const isListed = (place: string) => {
      const [tier = '', folder = ''] = place.split('/');
      const names = tier === 'backup' ? ['packages/backup'] : [place, `${tier}/${folder}`, folder];
      if (place.split('/').length === 2 && tier === 'scheduler') names.push('scheduler/timers');
      return names.some((name) => new RegExp(`\`(?:web/)?${name}(?:/[\\w-]+)?\``).test(transactions));
    };
    expect(places.filter((place) => !isListed(place))).toEqual([]);
    expect(places.length).toBeGreaterThan(50);
  });
});

it('architecture decision records have numbers of their own', () => {
  const numbers = globSync('docs/adr/[0-9]*.md', { cwd: root }).map((page) => page.slice(9, 13));
  expect(numbers).toEqual([...new Set(numbers)]);
});

describe('comments of the sources', () => {
  const sources = globSync('{apps,packages,scripts,tests}/**/*.ts', {
    cwd: root,
    exclude: (name) => name.includes('node_modules'),
  });
  const cited = (pattern: RegExp) =>
    sources.flatMap((source) =>
      [...text(source).matchAll(pattern)].map(([, found]) => `${source}: ${found!}`),
    );

  it('cite sections of the decisions that are there', () => {
    const decisions = text('docs/decisions.md');
    const sections = new Map<string, number>();
    for (const [, number, body] of decisions.matchAll(
      /^## (\d+)\. [^\n]*\n([\s\S]*?)(?=^## |$(?![\s\S]))/gm,
    )) {
      sections.set(
        number!,
        Math.max(0, ...[...body!.matchAll(/^(\d+)\. /gm)].map(([, item]) => Number(item))),
      );
    }
    const isThere = (citation: string) => {
      const [section = '', item] = citation.slice(citation.lastIndexOf(' ') + 1).split('.');
      return sections.has(section) && (item === undefined || Number(item) <= sections.get(section)!);
    };
    const citations = cited(/\bdecisions(?:,)? (\d+(?:\.\d+)?)/g);
    expect(citations.length).toBeGreaterThan(50);
    expect(citations.filter((each) => !isThere(each))).toEqual([]);
  });

  it('cite pages of docs that are there', () => {
    const isThere = (citation: string) =>
      existsSync(resolve(root, citation.slice(citation.lastIndexOf(' ') + 1)));
    expect(cited(/\b(docs\/[\w/-]+\.md)/g).filter((each) => !isThere(each))).toEqual([]);
  });
});
