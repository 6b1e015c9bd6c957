/** The TypeScript type of what a JSON Schema accepts, as far as types can express it; `unknown` for the rest. */

export type Schema = Readonly<{
  type?: string | readonly string[];
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  items?: Schema | boolean;
  enum?: readonly unknown[];
  const?: unknown;
  [keyword: string]: unknown;
}>;

/** Tools take an object. */
export type ObjectSchema = Schema & Readonly<{ type: 'object' }>;

interface Scalars {
  string: string;
  number: number;
  integer: number;
  boolean: boolean;
  null: null;
}

type Required<S> = S extends { required: readonly (infer Name)[] } ? Name : never;

/** Flattened, so that editors show the properties. */
type Flat<T> = { [K in keyof T]: T[K] };

type ObjectOf<S> = S extends { properties: infer P }
  ? Flat<
      { -readonly [K in keyof P as K extends Required<S> ? K : never]: FromSchema<P[K]> } & {
        -readonly [K in keyof P as K extends Required<S> ? never : K]?: FromSchema<P[K]>;
      }
    >
  : Record<string, unknown>;

export type FromSchema<S> = S extends { const: infer Value }
  ? Value
  : S extends { enum: readonly (infer Value)[] }
    ? Value
    : S extends { type: 'object' }
      ? ObjectOf<S>
      : S extends { type: 'array' }
        ? (S extends { items: infer Item } ? FromSchema<Item> : unknown)[]
        : S extends { type: keyof Scalars }
          ? Scalars[S['type']]
          : S extends { type: readonly (infer Name)[] }
            ? Name extends keyof Scalars
              ? Scalars[Name]
              : unknown
            : unknown;
