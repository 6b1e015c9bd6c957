/** A form generated from a tool's JSON Schema, and the input read from it. Schemas are the plugin's text: untrusted. */
import type { PluginTool } from '@acp/contract';
import { invalid, said } from '@acp/kernel';
import type { FormValues } from '../kit/form-values.ts';
import { each, type Html } from '../kit/html.ts';
import { input, select, textarea } from '../kit/parts.ts';

type Kind = 'choice' | 'yes_no' | 'whole' | 'number' | 'line' | 'text' | 'json';

interface Field {
  /** Name of the form field: properties can have any name. */
  name: string;
  property: string;
  kind: Kind;
  choices: readonly unknown[];
  required: boolean;
  hint: string | undefined;
  initial: unknown;
}

const MOST_FIELDS = 40;
const WHOLE_INPUT = 'input';
/** Longer texts get more than one line. */
const LINE = 200;

const record = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};

/** Empty if the schema is not a flat list of properties: then the input is written as JSON. */
export function fieldsOf({ input_schema }: PluginTool): Field[] {
  const properties = Object.entries(record(input_schema.properties));
  if (properties.length > MOST_FIELDS) return [];
  const required = Array.isArray(input_schema.required) ? input_schema.required : [];
  // The database does not keep the order of properties: required ones come first.
  const ordered = properties.toSorted(
    ([a], [b]) => Number(required.includes(b)) - Number(required.includes(a)),
  );
  return ordered.map(([property, schema], index) => {
    const own = record(schema);
    return {
      name: `in-${index}`,
      property,
      kind: kindOf(own),
      choices: Array.isArray(own.enum) ? own.enum : [],
      required: required.includes(property),
      hint: typeof own.description === 'string' ? own.description.slice(0, 300) : undefined,
      initial: own.default,
    };
  });
}

function kindOf(schema: Record<string, unknown>): Kind {
  if (Array.isArray(schema.enum)) return 'choice';
  if (schema.type === 'boolean') return 'yes_no';
  if (schema.type === 'integer') return 'whole';
  if (schema.type === 'number') return 'number';
  if (schema.type !== 'string') return 'json';
  return Number(schema.maxLength ?? 0) > LINE ? 'text' : 'line';
}

/** @param id distinguishes the forms of a page */
export function toolFields(tool: PluginTool, id: string, form: FormValues | null): Html {
  const fields = fieldsOf(tool);
  if (fields.length === 0)
    return textarea({
      name: WHOLE_INPUT,
      id: `${id}-input`,
      label: 'Input',
      mono: true,
      rows: 4,
      value: form?.text(WHOLE_INPUT) ?? '{}',
      hint: 'JSON',
    });
  return each(fields, (field) => control(field, `${id}-${field.name}`, form));
}

function control(field: Field, id: string, form: FormValues | null): Html {
  const { name, property, kind, choices, required, hint } = field;
  const initial = field.initial === undefined ? '' : written(field);
  const options = { name, id, label: property, required, hint, value: form?.sent(name) ?? initial };
  switch (kind) {
    case 'choice':
      return select({ ...options, choices: [nothing, ...choices.map(asChoice)] });
    case 'yes_no':
      return select({ ...options, choices: [nothing, ...[true, false].map(asChoice)] });
    case 'whole':
    case 'number':
      return input(options);
    case 'line':
      return input(options);
    case 'text':
      return textarea(options);
    case 'json':
      return textarea({ ...options, mono: true, rows: 3, hint: hint ?? 'JSON' });
  }
}

const nothing = { value: '', label: '–' };
const asChoice = (value: unknown) => ({
  value: JSON.stringify(value),
  label: typeof value === 'string' ? value : JSON.stringify(value),
});

const written = ({ kind, initial }: Field): string =>
  (kind === 'line' || kind === 'text') && typeof initial === 'string' ? initial : JSON.stringify(initial);

/** Omits empty fields. @throws invalid if a number or JSON is malformed, naming the property */
export function readTool(tool: PluginTool, form: FormValues): unknown {
  const fields = fieldsOf(tool);
  if (fields.length === 0) return form.json(WHOLE_INPUT) ?? {};
  const values = fields.flatMap((field) => {
    const text = form.given(field.name);
    return text === undefined ? [] : [[field.property, valueOf(field, text)] as const];
  });
  return Object.fromEntries(values);
}

function valueOf({ kind, property }: Field, text: string): unknown {
  if (kind === 'line' || kind === 'text') return text;
  if (kind === 'whole' || kind === 'number') {
    const value = Number(text.trim());
    if (!Number.isFinite(value)) throw invalid(said`${property} must be a number`);
    return value;
  }
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw invalid(said`${property} is not valid JSON`);
  }
}
