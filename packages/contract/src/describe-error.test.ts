import { expect, it } from '@jest/globals';
import { type TSchema, Type } from 'typebox';
import { Nullable } from './schema-kit.ts';
import { createValidator } from './validator.ts';
import { RegisterWorker } from './workers.ts';

const refusal = (schema: TSchema, value: unknown): string => {
  try {
    createValidator(schema, 'body')(value);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('nothing was refused');
};

const SHARED =
  'body.shared_models must be a text like provider:model,model;provider:model, or a list like [{"provider": "…", "models": ["…"]}]';

it.each([
  [7, SHARED],
  [{ provider: 'mine', models: ['big'] }, SHARED],
  [['mine:big'], 'body.shared_models.0 must be object'],
  [[{ provider: 'mine' }], "body.shared_models.0 must have required property 'models'"],
  [[{ provider: 'mine', models: 'big' }], 'body.shared_models.0.models must be array'],
  ['x'.repeat(20_001), 'body.shared_models must NOT have more than 20000 characters'],
])('the shared models %j are refused in terms of the form that was meant', (shared_models, said) => {
  expect(refusal(RegisterWorker, { shared_models })).toBe(said);
});

it('a union that describes nothing names the types of its alternatives', () => {
  const schema = Type.Object({ note: Nullable(Type.String({ maxLength: 3 })) });
  expect(refusal(schema, { note: 7 })).toBe('body.note must be string or null');
  expect(refusal(schema, { note: 'long' })).toBe('body.note must NOT have more than 3 characters');
});
