import { expect, it } from '@jest/globals';
import { Scrubber } from '@acp/kernel';
import { cpuMs } from '@acp/testkit';
import { listedTools } from './mcp-answers.ts';

const SIGNS = '!#$%&()*+,./:;<=>?@[]^{}|~';

it('the names of eighty thousand tools that would be called the same are noted in linear time', () => {
  const input_schema = { type: 'object' } as const;
  const tools = Array.from({ length: 100_000 }, (_, at) => {
    const name = [at, at / 26, at / 676, at / 17_576].map((each) => SIGNS[Math.floor(each) % 26]!).join('');
    return { name, inputSchema: input_schema };
  });
  let listed: ReturnType<typeof listedTools> = [];
  // Copying them for each took minutes.
  expect(cpuMs(() => (listed = listedTools(tools, new Scrubber())))).toBeLessThan(20_000);
  expect(listed).toMatchObject([{ name: '!!!!', called: '____' }]);
  expect(listed[0]!.left_out!.length).toBeGreaterThan(80_000);
});
