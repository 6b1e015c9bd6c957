import { AdapterError } from './adapter-error.ts';
import { cost, count, object, text } from './cli/fields.ts';
import { isObject, jsonObject } from './process/lines.ts';
import type { AdapterEvent } from './task.ts';

/**
 * Parses the worker result body (specification, Remote workers) of a program that received its task as a payload: its summary
 * is the agent's answer. Throws AdapterError if there is none.
 */
export function resultEvents(output: string, model: string): AdapterEvent[] {
  const body = parseResult(output);
  if (typeof body?.summary !== 'string')
    throw new AdapterError('permanent', 'the output is not a result body: a JSON object with a summary');
  const usage = ['model', 'input_tokens', 'output_tokens', 'cost_usd'].some(
    (field) => body[field] !== undefined,
  );
  return [
    { kind: 'output', text: body.summary },
    ...(usage
      ? [
          {
            kind: 'usage' as const,
            model: text(body.model) || model || 'unknown',
            input_tokens: count(body.input_tokens),
            output_tokens: count(body.output_tokens),
            cached_tokens: count(body.cached_tokens),
            cost_usd: cost(body.cost_usd),
          },
        ]
      : []),
  ];
}

/** The whole text as JSON, or else its last line. */
function parseResult(output: string): Record<string, unknown> | undefined {
  const whole = jsonObject(output);
  if (whole !== undefined) return whole;
  const last = output.trimEnd().split('\n').at(-1) ?? '';
  const parsed = jsonObject(last);
  return isObject(parsed) ? object(parsed) : undefined;
}
