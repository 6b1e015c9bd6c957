import { describe, expect, it } from '@jest/globals';
import { endpoints } from '@acp/contract';
import { conflict, invalid, said, type ServiceError } from '@acp/kernel';
import { FieldErrors, withLabel } from './field-errors.ts';
import { heedRefusal, inLanguage } from './language.ts';
import { catalogueOf } from './languages.ts';
import { formatInWords, patternInWords } from './value-formats.ts';

describe('an error of a form', () => {
  it('names the field as the page does where it does not stand beside it', () => {
    const labels = new Map([
      ['title', 'Title'],
      ['bounds.agents', 'Agents'],
    ]);
    expect(withLabel('body.title must NOT have more than 500 characters', labels)).toBe(
      'Title: Can have at most 500 characters.',
    );
    expect(withLabel('bounds.agents must be a number', labels)).toBe('Agents: Must be a number.');
    expect(withLabel('title needs a letter or a digit', labels)).toBe('title needs a letter or a digit');
    expect(withLabel('the issue is closed', labels)).toBe('the issue is closed');
  });

  it.each([
    [
      'body.slug must match pattern "^[A-Z][A-Z0-9_]*$"',
      'slug',
      'Use capitals A-Z, digits and underscores, beginning with a letter: API_KEY.',
    ],
    ['body.email must match format "email"', 'email', 'Must be an e-mail address.'],
    ['body.name must NOT have fewer than 1 characters', 'name', 'May not be empty.'],
    ["body must have required property 'name'", 'name', 'May not be empty.'],
    ['body.hours must be <= 87600', 'hours', 'Must be 87600 or less.'],
    ['body.hours must be > 0', 'hours', 'Must be more than 0.'],
    ['body.name must NOT have fewer than 1 items', 'name', 'May not be empty.'],
    ['hours: no clock has so many', 'hours', 'No clock has so many.'],
    ['slug is already in use', 'slug', 'Is already in use.'],
    ['a secret already has this name', 'name', 'A secret already has this name.'],
  ])('%j stands beside the field %s', (error, field, text) => {
    const errors = new FieldErrors(error, ['slug', 'name', 'hours', 'email'], { 'this name': 'name' });
    expect(errors.of(field)).toBe(text);
    expect(errors.general).toBeNull();
  });

  it('that names no field of the form stands above it', () => {
    const errors = new FieldErrors('approval is resolved already', ['note']);
    expect(errors.general).toBe('Approval is resolved already.');
    expect(errors.of('note')).toBeNull();
    expect(new FieldErrors(null, ['note']).general).toBeNull();
  });
});

it('what the API refuses is said in the reader’s language where the file has it', () => {
  const errors = inLanguage(catalogueOf('de'), () => new FieldErrors('slug is already in use', ['slug']));
  expect(errors.of('slug')).toBe('Das Kürzel ist bereits vergeben.');
  const others = inLanguage(
    catalogueOf('de'),
    () => new FieldErrors('body.slug must NOT have fewer than 3 characters', ['slug']),
  );
  expect(others.of('slug')).toBe('Braucht mindestens 3 Zeichen.');
});

describe('what the API refuses with values in it, in the reader’s language', () => {
  const told = (refusal: ServiceError, fields: string[] = []) =>
    inLanguage(catalogueOf('de'), () => new FieldErrors(heedRefusal(refusal), fields));

  it('stands beside its field without the field’s name, and above the form with it', () => {
    const refusal = invalid(said`${'base_url'} must be an http(s) URL`);
    expect(told(refusal, ['base_url']).of('base_url')).toBe('Muss eine http(s)-URL sein.');
    expect(told(refusal).general).toBe('Base_url muss eine http(s)-URL sein.');
    expect(new FieldErrors(refusal.message, ['base_url']).of('base_url')).toBe('Must be an http(s) URL.');
    const labelled = inLanguage(catalogueOf('de'), () =>
      withLabel(heedRefusal(refusal), new Map([['base_url', 'Basis-URL']])),
    );
    expect(labelled).toBe('Basis-URL: Muss eine http(s)-URL sein.');
  });

  it('is a sentence throughout where one refusal gives another as its reason', () => {
    const reason = conflict('issue is checked out by another agent');
    const refusal = conflict(said`a council needs two agents: ${said`${'Ada'}: ${reason.said}`}`);
    expect(refusal.message).toBe('a council needs two agents: Ada: issue is checked out by another agent');
    expect(told(refusal).general).toBe(
      'Ein Rat braucht zwei Agenten: Ada: der Vorgang ist bei einem anderen Agenten in Arbeit.',
    );
  });
});

interface Shape {
  readonly [name: string]: unknown;
  readonly anyOf?: readonly Shape[];
  readonly items?: Shape;
  readonly properties?: Readonly<Record<string, Shape>>;
}

/** All values of that keyword within the schema. */
function valuesOf(keyword: 'pattern' | 'format', shape: Shape | undefined): string[] {
  if (shape === undefined) return [];
  const own = shape[keyword];
  const inner = [...(shape.anyOf ?? []), shape.items, ...Object.values(shape.properties ?? {})];
  return [...(typeof own === 'string' ? [own] : []), ...inner.flatMap((each) => valuesOf(keyword, each))];
}

it.each([
  ['pattern', patternInWords],
  ['format', formatInWords],
] as const)('each %s of the contract is explained in words', (keyword, inWords) => {
  const used = new Set(endpoints.flatMap(({ body }) => valuesOf(keyword, body as Shape | undefined)));
  expect(used.size).toBeGreaterThan(2);
  expect([...used].filter((value) => inWords(value) === undefined)).toEqual([]);
});
