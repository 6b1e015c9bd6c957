/**
 * Example bodies and responses. An endpoint's own `example` is its body; everything else is generated from the shapes, with
 * meaningful values. A test validates each against its schema.
 */
import type { EndpointRow } from './endpoint.ts';
import { EXAMPLE_ID } from './example-id.ts';

type Schema = Readonly<Record<string, unknown>>;

const INSTANT = '2026-03-14T09:26:53.589Z';

/** By field name, used wherever the field's schema accepts the value. */
const values: Readonly<Record<string, unknown>> = {
  action: 'issue.created',
  adapter_type: 'llm',
  backup_schedule: '0 3 * * *',
  base_url: 'https://models.example.com/v1',
  body_markdown: 'Nightly at 02:00, kept for 30 days.',
  color: '#2b6cb0',
  content_type: 'text/plain',
  cron_expression: '0 2 * * *',
  description: 'Keeps the lights on.',
  display_name: 'Ada Lovelace',
  email: 'ada@example.com',
  filename: 'report.txt',
  identifier: 'HAR-12',
  issue_number: 12,
  key: 'plan',
  key_prefix: 'sk_1a2b3c4d',
  label: 'integration',
  message: 'Done.',
  model: 'large-1',
  name: 'Harbour Books',
  path: 'reports/2026/report.txt',
  provider: 'family_chat_a',
  raw_key: `sk_${'1a2b3c4d'.repeat(8)}`,
  repo_url: 'https://git.example.com/harbour/shop.git',
  size_bytes: 2048,
  slug: 'harbour',
  summary: 'All backups are green.',
  timezone: 'Europe/Berlin',
  title: 'Set up backups',
  token: 'vX3b9nQ0kLm2pR7sT1uW4yZ6aC8dE5fG0hJ2iK4lM6n',
  url: 'https://example.com/hook',
};

/** A value that the schema accepts; of several variants, the first that is not null. */
function exampleOf(shape: object, field = ''): unknown {
  const schema = shape as Schema;
  const variants = schema.anyOf as Schema[] | undefined;
  if (variants) return exampleOf(variants.find(({ type }) => type !== 'null') ?? variants[0]!, field);
  if ('const' in schema) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  switch (schema.type) {
    case 'object':
      return objectOf(schema);
    case 'array':
      return [exampleOf(schema.items ?? {}, field.replace(/s$/, ''))];
    case 'string':
      return textOf(schema, field);
    case 'integer':
    case 'number':
      return numberOf(schema, field);
    case 'boolean':
      return /^(is_|enabled|emb)/.test(field);
    case 'null':
      return null;
    default:
      return {};
  }
}

function objectOf({ properties = {} }: Schema): object {
  const fields = Object.entries(properties as Record<string, Schema>);
  return Object.fromEntries(fields.map(([name, schema]) => [name, exampleOf(schema, name)]));
}

function textOf({ format, pattern, maxLength, minLength }: Schema, field: string): string {
  if (format === 'uuid') return EXAMPLE_ID;
  if (format === 'date-time') return INSTANT;
  if (format === 'email') return 'ada@example.com';
  const value = values[field];
  const fits = (text: string) =>
    text.length <= Number(maxLength ?? Infinity) &&
    text.length >= Number(minLength ?? 0) &&
    (typeof pattern !== 'string' || new RegExp(pattern, 'u').test(text));
  return [value, field.replaceAll('_', '-'), 'text'].find(
    (text) => typeof text === 'string' && fits(text),
  ) as string;
}

function numberOf({ minimum = 0, maximum = Infinity }: Schema, field: string): number {
  const value = values[field];
  const wanted = typeof value === 'number' ? value : /usd/.test(field) ? 1.25 : 1;
  return Math.min(Math.max(wanted, Number(minimum)), Number(maximum));
}

/** Undefined if the endpoint takes no body, or not a JSON one. */
export function exampleBody({ body, body_kind, example }: EndpointRow): unknown {
  if (body === undefined || body_kind === 'multipart') return undefined;
  return example ?? exampleOf(body);
}

/** Undefined if the response is not JSON. */
export const exampleAnswer = ({ response }: EndpointRow): unknown =>
  response === null ? undefined : exampleOf(response);
