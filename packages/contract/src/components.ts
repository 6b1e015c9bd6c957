/** Schemas of the OpenAPI document: each shape exported by the contract becomes a named component that others refer to. */
import type { TSchema } from 'typebox';
import { ErrorBody } from './schema-kit.ts';

type Json = Record<string, unknown>;

/** Collects the components that are referred to. */
export class Components {
  readonly schemas: Json = {};
  readonly #names = new Map<unknown, string>([[ErrorBody, 'Error']]);

  /** @param shapes by export name; anything that is not an object with fields is skipped */
  constructor(shapes: object) {
    for (const [name, shape] of Object.entries(shapes) as [string, unknown][])
      if (isShape(shape) && !this.#names.has(shape)) this.#names.set(shape, name);
  }

  /** The schema as it appears in the document: named shapes, including itself, become references. */
  refer(schema: unknown): unknown {
    const name = this.#names.get(schema);
    if (name === undefined) return this.#copy(schema);
    if (!(name in this.schemas)) {
      // Registered before its parts are visited: a shape may contain itself.
      this.schemas[name] = {};
      this.schemas[name] = this.#copy(schema);
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  /** The schema itself inline, with references only inside it. */
  inline(schema: TSchema | object): Json {
    return this.#copy(schema) as Json;
  }

  /** TypeBox schemas are JSON Schema as OpenAPI 3.1 expects it; the library's extra properties are not enumerable. */
  #copy(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((item) => this.refer(item));
    if (typeof schema !== 'object' || schema === null) return schema;
    const fields = Object.entries(schema).filter(([, value]) => value !== undefined);
    return Object.fromEntries(fields.map(([key, value]) => [key, this.refer(value)]));
  }
}

function isShape(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    'properties' in value &&
    'type' in value &&
    value.type === 'object'
  );
}
