import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, jest } from '@jest/globals';
import { helpFor, parseCommand, runCtl } from './run-ctl.ts';

const optionsOf = (...words: string[]) => parseCommand(words).options;

describe('what a command is about', () => {
  it.each(['worker-1', '--worker=worker-1'])('is named by %s alone, or by its option', (word) => {
    expect(optionsOf('workers', 'approve', word)).toEqual({ worker: 'worker-1' });
  });

  it('goes with options, which may come first', () => {
    expect(optionsOf('users', 'create', '--role', 'admin', 'ada@example.com')).toEqual({
      email: 'ada@example.com',
      role: 'admin',
    });
  });

  it.each([
    'workers approve one two',
    'workers approve one --worker two',
    'keys mint harbour --role member',
    'companies list harbour',
    'doctor harbour',
  ])('is said once, and by name where there is more to say: %s is refused', (line) => {
    expect(() => parseCommand(line.split(' '))).toThrow(/usage: /);
  });

  it('names a word that it does not know, and what there is instead', () => {
    expect(() => parseCommand(['zebra', 'list'])).toThrow(/^there is no noun zebra: use one of .*workers/);
    expect(() => parseCommand(['workers', 'feed'])).toThrow(
      /^there is no workers feed; usage:\n  workers list/,
    );
    expect(() => parseCommand(['workers'])).toThrow(/^workers needs a verb; usage:\n  workers list/);
    expect(() => parseCommand([])).toThrow(/^usage: npm run ctl/);
  });
});

describe('help', () => {
  const usagesIn = (text = '') => [...text.matchAll(/^ {2}(\S.*)$/gm)].map(([, usage]) => usage);

  it.each(['--help', '-h', 'help', 'zebra --help'])('lists all commands when asked by %s', (line) => {
    const usages = usagesIn(helpFor(line.split(' ')));
    expect(usages).toContain('runs pause');
    expect(usages.length).toBeGreaterThan(30);
  });

  it('is about what stands before it', () => {
    expect(usagesIn(helpFor(['runs', '--help']))).toEqual(['runs pause', 'runs resume']);
    expect(usagesIn(helpFor(['help', 'runs']))).toEqual(['runs pause', 'runs resume']);
    expect(usagesIn(helpFor(['keys', 'mint', '--role', 'admin', '-h']))).toEqual([
      expect.stringMatching(/^keys mint --company/),
    ]);
  });

  it('is not what a command about something called so asks for', () => {
    expect(helpFor(['workers', 'approve', 'help'])).toBeUndefined();
    expect(helpFor([])).toBeUndefined();
  });
});

it('a database that can’t be started is told in one line, with what to do about it', async () => {
  const home = mkdtempSync(path.join(tmpdir(), 'acp-ctl-'));
  const data = path.join(home, 'postgres/data');
  mkdirSync(data, { recursive: true });
  delete process.env.DATABASE_URL;
  process.env.SERVICE_HOME = home;
  const said = jest.spyOn(console, 'error').mockReturnValue();
  const { argv } = process;
  process.argv = [...argv.slice(0, 2), 'companies', 'list'];
  try {
    expect(await runCtl()).toBe(1);
  } finally {
    process.argv = argv;
  }
  expect(said.mock.calls).toEqual([
    [`${data} is not a PostgreSQL data folder: move it away, or set DATABASE_URL`],
  ]);
});
