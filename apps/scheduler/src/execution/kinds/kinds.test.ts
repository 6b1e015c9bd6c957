import { expect, it } from '@jest/globals';
import { kindTable } from '@acp/core';
import { executionKinds } from './index.ts';

it('each kind of run has both its halves', () => {
  expect(executionKinds()).toEqual(kindTable.map(({ name }) => name));
});
