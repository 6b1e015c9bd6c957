/**
 * The catalogue of awaited commands (decisions 6): work that the web tier has a scheduler do while a request waits. Each has
 * one handler in the scheduler; startup and a test check that catalogue and handlers match. Payload and result are validated
 * on both sides.
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
  /** After this time the caller gets a timeout and the handler's signal aborts; at most 30. */
  readonly deadline_sec: number;
  /** Who may execute it: any free scheduler, or the owner of the lease that the payload names. */
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
    doc: 'One small real call with an agent’s configuration.',
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
    doc: 'Calls an external tool for an MCP client.',
  },
  'embed-question': {
    payload: Type.Object({ question: Type.String({ maxLength: 4000 }) }),
    /** Base64 of little-endian float32; null if the company has nothing to compare it with. */
    result: Type.Object({
      vector: Type.Union([Type.Object({ space: Uuid, numbers: Type.String() }), Type.Null()]),
    }),
    deadline_sec: 5,
    taken_by: 'any',
    doc: 'Computes the embedding of a question for knowledge search.',
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

/** Throws `invalid` if the value does not match the schema. */
export function checkCommandBody(schema: TSchema, value: unknown, place: string): unknown {
  let validate = validators.get(schema);
  if (validate === undefined) {
    validate = createValidator(schema, place);
    validators.set(schema, validate);
  }
  return validate(value);
}
