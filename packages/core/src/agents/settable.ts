import { CreateAgent, UpdateAgent } from '@acp/contract';

/** Picks the fields that a body may set: a row is never spread from what a caller sent. */
function settableOf<T extends object>(schema: { properties: object }, input: T): T {
  const fields = Object.entries(input).filter(([field]) => Object.hasOwn(schema.properties, field));
  return Object.fromEntries(fields) as T;
}

export const settableOnCreate = (input: CreateAgent): CreateAgent => settableOf(CreateAgent, input);
export const settableOnUpdate = (input: UpdateAgent): UpdateAgent => settableOf(UpdateAgent, input);
