/** What the pages name is there: files, variables, commands. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { configReference } from '@acp/kernel';
import { nouns } from '@acp/ctl';

const root = resolve(import.meta.dirname, '../..');
const pages = globSync(['README.md', 'docs/**/*.md', 'deploy/**/*.md'], { cwd: root }).toSorted();
const text = (page: string) => readFileSync(resolve(root, page), 'utf8');

const variables = new Set(configReference().map(({ name }) => name));
/** What a run's program finds in its environment, which nobody sets for the service. */
const ofRuns = new Set(
  ['API_KEY', 'BASE_URL', 'RUN_ID', 'AGENT_ID', 'ISSUE_ID'].map((name) => `SERVICE_${name}`),
);
const isKnown = (name: string) =>
  ofRuns.has(name) ||
  [...variables].some((each) => each === name || (name.endsWith('_') && each.startsWith(name)));

const { scripts } = JSON.parse(text('package.json')) as { scripts: Record<string, string> };
const commands = new Set(
  Object.entries(nouns).flatMap(([noun, verbs]) =>
    Object.keys(verbs).map((verb) => `${noun} ${verb}`.trim()),
  ),
);

describe.each(pages)('%s', (page) => {
  const content = text(page);

  it('links to files that are there', () => {
    const links = [...content.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)].map(([, link]) => link!);
    expect(links.filter((link) => !existsSync(resolve(root, dirname(page), link)))).toEqual([]);
  });

  it('names variables that the service knows', () => {
    const named = [...content.matchAll(/(?<![A-Z_$<])SERVICE_[A-Z0-9_]+/g)].map(([name]) => name);
    expect([...new Set(named)].filter((name) => !isKnown(name))).toEqual([]);
  });

  it('names commands that there are', () => {
    const run = [...content.matchAll(/npm run ([a-z][\w:-]*)/g)].map(([, script]) => script!);
    expect(run.filter((script) => !Object.hasOwn(scripts, script))).toEqual([]);
    const words = [...content.matchAll(/(?:npm run ctl --|`ctl) ([a-z]+(?:[ ][a-z]+(?:-[a-z]+)*)?)/g)].map(
      ([, command]) => command!,
    );
    expect(words.filter((each) => !commands.has(each) && !commands.has(each.split(' ')[0]!))).toEqual([]);
  });
});
