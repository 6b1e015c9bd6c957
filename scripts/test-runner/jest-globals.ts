// Stands in for `@jest/globals` when Node loads the tests. Modules imported by several test files need the functions of the
// current file: these are live bindings.
import type * as globals from '@jest/globals';
import { ModuleMocker } from 'jest-mock';

export const mocks = new ModuleMocker(globalThis);
export const jest = { fn: mocks.fn.bind(mocks), spyOn: mocks.spyOn.bind(mocks) };

export let afterAll: typeof globals.afterAll;
export let afterEach: typeof globals.afterEach;
export let beforeAll: typeof globals.beforeAll;
export let beforeEach: typeof globals.beforeEach;
export let describe: typeof globals.describe;
export let expect: typeof globals.expect;
export let it: typeof globals.it;
export let test: typeof globals.test;

export function takeGlobals(ofFile: typeof globals): void {
  ({ afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test } = ofFile);
}
