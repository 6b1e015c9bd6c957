import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { generated } from '../../scripts/generate.ts';

const root = resolve(import.meta.dirname, '../..');

describe('generated files', () => {
  it.each(Object.entries(generated))(
    '%s says what the code says (else: npm run generate)',
    async (path, content) => {
      expect(readFileSync(resolve(root, path), 'utf8')).toBe(await content());
    },
  );
});
