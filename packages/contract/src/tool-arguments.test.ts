import { expect, it } from '@jest/globals';
import { endpointTools } from './endpoint-tools.ts';
import { describedInput } from './tool-arguments.ts';

it('a tool’s every argument says what it is for, and keeps what its schema says', () => {
  for (const { name, input } of endpointTools) {
    const told = describedInput(input).properties as Record<string, { description?: string }>;
    expect([name, Object.keys(told)]).toEqual([name, Object.keys(input.properties)]);
    const silent = Object.keys(told).filter((argument) => !told[argument]!.description);
    expect([name, silent]).toEqual([name, []]);
  }
  const create = endpointTools.find(({ name }) => name === 'create_issue')!;
  expect(describedInput(create.input)).toMatchObject({
    type: 'object',
    required: ['title'],
    properties: { priority: { description: 'How urgent it is', enum: expect.arrayContaining(['high']) } },
  });
});
