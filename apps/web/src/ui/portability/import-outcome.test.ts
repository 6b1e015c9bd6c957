import { bundleLists, type ImportedCompany } from '@acp/contract';
import { expect, it } from '@jest/globals';
import { importOutcome } from './import-outcome.ts';

it('writes all its numbers alike', () => {
  const none = Object.fromEntries(bundleLists.map((list) => [list, 0]));
  const skipped = Array.from({ length: 5298 }, (_, index) => ({ type: 'issue', name: `One ${index}` }));
  const imported = { created: { ...none, issues: 5003 }, skipped, warnings: [] };
  const html = importOutcome(imported as unknown as ImportedCompany, false);
  for (const number of ['5,003', '5,298 left as they are', 'And 5,198 more']) expect(html).toContain(number);
});
