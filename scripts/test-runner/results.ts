import { readFileSync } from 'node:fs';

/** Numbers of tests. */
export interface FileResult {
  passed: number;
  failed: number;
  skipped: number;
}

export interface TestRun {
  /** Jest's exit code. */
  code: number;
  /** By path. */
  files: ReadonlyMap<string, FileResult>;
}

interface JestResults {
  testResults: { name: string; status: string; assertionResults: { status: string }[] }[];
}

/** More failures than this are no accident of timing. */
const MOST_REPEATED = 3;

/** Takes jest's JSON results. A file that could not even be loaded counts as one failure; so do results that can't be read. */
export function readResults(resultFile: string): Map<string, FileResult> {
  try {
    const { testResults }: JestResults = JSON.parse(readFileSync(resultFile, 'utf8'));
    return new Map(
      testResults.map(({ name, status, assertionResults: tests }) => {
        const passed = tests.filter((test) => test.status === 'passed').length;
        const failed = tests.filter((test) => test.status === 'failed').length;
        const skipped = tests.length - passed - failed;
        return [name, { passed, failed: status === 'failed' ? Math.max(1, failed) : failed, skipped }];
      }),
    );
  } catch {
    return new Map([[resultFile, { passed: 0, failed: 1, skipped: 0 }]]);
  }
}

export function totals(files: TestRun['files']): FileResult {
  const of = (key: keyof FileResult): number => [...files.values()].reduce((sum, file) => sum + file[key], 0);
  return { passed: of('passed'), failed: of('failed'), skipped: of('skipped') };
}

/** The files that failed, if they are few and other files passed. */
export function worthRepeating({ files }: TestRun): string[] {
  const failed = [...files].filter(([, file]) => file.failed > 0).map(([name]) => name);
  return failed.length <= MOST_REPEATED && failed.length < files.size ? failed : [];
}
