import { describe, expect, it } from '@jest/globals';
import { adapterConfigs } from './adapter-config.ts';
import { adapterTable, adapterTraits, isAdapterType } from './adapter-traits.ts';
import { adapterTypes } from './agents.ts';

describe('the table of adapters', () => {
  it('has a row for each type, as their configurations have', () => {
    expect(Object.keys(adapterTable)).toEqual([...adapterTypes]);
    expect(Object.keys(adapterConfigs)).toEqual([...adapterTypes]);
  });

  it('has every other name run as a model', () => {
    for (const name of ['', 'cli_c_local', 'my_sandbox', 'constructor', '__proto__'])
      expect([name, adapterTraits(name).runs_as, isAdapterType(name)]).toEqual([name, 'model', false]);
  });
});
