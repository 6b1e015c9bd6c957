/**
 * The catalogue of awaited commands (decisions 6): what the web tier has a scheduler do while a request waits. One
 * handler each in the scheduler; boot and a test check that catalogue and handlers agree. Payload and result are
 * checked on both sides.
 */
import { Type, type Static, type TSchema } from 'typebox';
import { AdapterTest, TestAdapterCommand } from './agents.ts';
import { federationCommands } from './federation.ts';
import { pluginCommands } from './plugin-commands.ts';
import { mcpServerCommands } from './mcp-server-commands.ts';
import { InstanceProviderTests, ProviderTest, TestProviderCommand } from './providers.ts';
import { Uuid } from './schema-kit.ts';
import { createValidator, type Validator } from './validator.ts';

export interface CommandRow {
  readonly payload: TSchema;
  readonly result: TSchema;
  /** After so long the caller is told that nobody answered, and the handler's signal aborts; 30 at most. */
  readonly deadline_sec: number;
  /** Who may take it: whichever scheduler is free, or the one that holds the lease which the payload names. */
  readonly taken_by: 'any' | ((payload: never) => string);
  readonly doc: string;
}
export type CommandTable = Readonly<Record<string, CommandRow>>;

export const commandCatalogue = {
  'test-adapter': {
    payload: TestAdapterCommand,
    result: AdapterTest,
    deadline_sec: 30,
    taken_by: 'any',
    doc: 'One small real call with the configuration of an agent.',
  },
  'test-provider': {
    payload: TestProviderCommand,
    result: ProviderTest,
    deadline_sec: 30,
    taken_by: 'any',
    doc: 'Lists the models of a provider with its stored key.',
  },
  'test-instance-providers': {
    payload: Type.Object({}),
    result: InstanceProviderTests,
    deadline_sec: 30,
    taken_by: 'any',
    doc: 'Probes what the environment configures, all families at once.',
  },
  'call-tool': {
    payload: Type.Object({ name: Type.String(), input: Type.Unknown() }),
    result: Type.Object({ answer: Type.Unknown() }),
    deadline_sec: 30,
    taken_by: 'any',
    doc: 'Calls a tool that is not the service’s own, for a client of MCP.',
  },
  'embed-question': {
    payload: Type.Object({ question: Type.String({ maxLength: 4000 }) }),
    /** Base64 of float32, little endian; null where the company has nothing to compare it with. */
    result: Type.Object({
      vector: Type.Union([Type.Object({ space: Uuid, numbers: Type.String() }), Type.Null()]),
    }),
    deadline_sec: 5,
    taken_by: 'any',
    doc: 'Computes the embedding of a question for the search of knowledge.',
  },
  ...pluginCommands,
  ...mcpServerCommands,
  ...federationCommands,
} as const satisfies CommandTable;

export type CommandCatalogue = typeof commandCatalogue;
export type CommandName = keyof CommandCatalogue;
export type CommandPayload<N extends CommandName> = Static<CommandCatalogue[N]['payload']>;
export type CommandResult<N extends CommandName> = Static<CommandCatalogue[N]['result']>;

const validators = new WeakMap<TSchema, Validator<unknown>>();

/** Throws `invalid` where the value is none of the schema. */
export function checkCommandBody(schema: TSchema, value: unknown, place: string): unknown {
  let validate = validators.get(schema);
  if (validate === undefined) {
    validate = createValidator(schema, place);
    validators.set(schema, validate);
  }
  return validate(value);
}
