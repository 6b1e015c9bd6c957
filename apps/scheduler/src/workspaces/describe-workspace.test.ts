import { expect, it } from '@jest/globals';
import { describeWorkspace, NOT_STORED } from './describe-workspace.ts';
import type { RunWorkspace } from './run-workspace.ts';

/** Of a plain folder, with only what its description reads. */
const described = (error: string | null): string =>
  describeWorkspace(
    {
      base: null,
      facts: {
        workspace: { version: 1, check_status: 'none', error },
        issue: { identifier: 'T-1' },
        project: null,
        remarks: [],
        remark_count: 0,
        told_count: 0,
      },
    } as unknown as RunWorkspace,
    { setup_problem: null },
  );

it('tells an agent why nothing could be stored after the last run, and not what kept a run from beginning', () => {
  const refused = described(`${NOT_STORED}disallowed submodule url`);
  expect(refused).toContain('could not be stored after the last run');
  expect(refused).toContain('disallowed submodule url');
  const before = described('the repository is not there');
  expect(before).toBe(described(null));
});
