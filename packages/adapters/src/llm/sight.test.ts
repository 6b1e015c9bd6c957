import { expect, it } from '@jest/globals';
import { takesImages } from './sight.ts';

it.each(['gpt-4o', 'gpt-4.1-mini', 'gpt-5', 'gpt-4-turbo', 'o3', 'o4-mini'])(
  '%s of family a sees',
  (model) => {
    expect(takesImages('family_chat_a', model)).toBe(true);
  },
);
it.each(['gpt-3.5-turbo', 'gpt-4', 'gpt-4-0613', 'gpt-oss-120b', 'o1-mini', 'o3-mini'])(
  '%s of family a reads text alone',
  (model) => {
    expect(takesImages('family_chat_a', model)).toBe(false);
  },
);
it.each([
  'qwen/qwen2.5-vl-72b-instruct',
  'llava:13b',
  'google/gemini-2.5-flash',
  'gemma3:27b',
  'openai/gpt-4o-mini',
  'meta-llama/llama-4-scout',
  'llama3.2-vision',
  'pixtral-12b',
  'anthropic/claude-sonnet-4.5',
])('%s behind the common interface sees', (model) => {
  expect(takesImages('family_compat', model)).toBe(true);
});
it.each([
  'llama3.1:8b',
  'qwen3:32b',
  'deepseek-chat',
  'mistral-small',
  'openai/o3-mini',
  'phi-4',
  'fake-model',
])('%s behind the common interface is told in words', (model) => {
  expect(takesImages('family_compat', model)).toBe(false);
});
