import { describe, expect, it } from '@jest/globals';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type FileResult, readResults, totals, worthRepeating } from './results.ts';

function written(text: string): string {
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'acp-results-')), 'results.json');
  writeFileSync(file, text);
  return file;
}

const tests = (...statuses: string[]) => statuses.map((status) => ({ status }));
const results = {
  testResults: [
    { name: 'good', status: 'passed', assertionResults: tests('passed', 'passed', 'pending', 'todo') },
    { name: 'bad', status: 'failed', assertionResults: tests('passed', 'failed') },
    { name: 'unloadable', status: 'failed', assertionResults: [] },
  ],
};

describe('the results of a run', () => {
  it('are counted by file and in all; a file that could not be loaded is one failure', () => {
    const files = readResults(written(JSON.stringify(results)));
    expect(files.get('bad')).toEqual({ passed: 1, failed: 1, skipped: 0 });
    expect(totals(files)).toEqual({ passed: 3, failed: 2, skipped: 2 });
  });

  it('that jest did not write whole are a failure', () => {
    expect(totals(readResults(written('{"testResults":')))).toEqual({ passed: 0, failed: 1, skipped: 0 });
  });
});

describe('once more', () => {
  const passed: FileResult = { passed: 1, failed: 0, skipped: 0 };
  const failed: FileResult = { passed: 0, failed: 1, skipped: 0 };
  const run = (...files: FileResult[]) => ({
    code: 1,
    files: new Map(files.map((file, n) => [`file ${n}`, file])),
  });

  it('run up to three files that failed', () => {
    expect(worthRepeating(run(passed, failed, failed, passed, failed))).toEqual([
      'file 1',
      'file 2',
      'file 4',
    ]);
  });

  it('runs nothing if more failed, all failed, or none', () => {
    expect(worthRepeating(run(passed, failed, failed, failed, failed))).toEqual([]);
    expect(worthRepeating(run(failed, failed))).toEqual([]);
    expect(worthRepeating(run(passed))).toEqual([]);
  });
});
