/** Variables for third-party MCP servers, including the local programs that the operator offers (docs/mcp.md). */
import { isAbsolute } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import { type Static, Type } from 'typebox';

/** A program that speaks MCP over stdin and stdout. */
export interface McpCommand {
  /** The program and its arguments; never passed through a shell. */
  command: readonly string[];
  description: string | null;
  /** The only environment variables that a company may set for it. */
  env: readonly string[];
  /** Folders and files it may read in addition to those named in the command. */
  readable: readonly string[];
  /** Container image that provides the command; null: it runs in bubblewrap. */
  image: string | null;
}

const text = (maxLength: number) =>
  Type.String({ minLength: 1, maxLength, pattern: '^[^\\u0000-\\u001f]+$' });
const Entry = Type.Object(
  {
    command: Type.Array(text(2000), { minItems: 1, maxItems: 50 }),
    description: Type.Optional(text(300)),
    env: Type.Optional(
      Type.Array(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]{0,99}$' }), { maxItems: 50 }),
    ),
    readable: Type.Optional(Type.Array(text(2000), { maxItems: 50 })),
    image: Type.Optional(text(300)),
  },
  { additionalProperties: false },
);
let isEntry: ValidateFunction<Static<typeof Entry>> | undefined;
const NAME = /^[a-z0-9]+([_-][a-z0-9]+)*$/;
const LONGEST_NAME = 32;
/** These control the loader, the sandbox or the container engine rather than the program. */
const RESERVED = /^(PATH|HOME|LANG|TMPDIR|GLIBC_TUNABLES|LD_.*|DOCKER_.*|CONTAINERS?_.*|XDG_.*|SERVICE_.*)$/;

/** @throws Error that names the program and what is wrong with it */
export function readMcpCommands(json: string): ReadonlyMap<string, McpCommand> {
  if (json === '') return new Map();
  const value = parsed(json);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('no object');
  return new Map(
    Object.entries(value).map(([name, entry]: [string, unknown]) => [name, readEntry(name, entry)]),
  );
}

/** The parser's own message would repeat the input. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new Error('no JSON');
  }
}

function readEntry(name: string, entry: unknown): McpCommand {
  if (name.length > LONGEST_NAME || !NAME.test(name))
    throw new Error(`"${name}" is not a valid name: lowercase letters, digits, - and _`);
  // Not by TypeBox's own check, whose three hundred modules every process would load to read one variable.
  isEntry ??= new Ajv({ strict: false }).compile(Entry);
  if (!isEntry(entry)) {
    const [first] = isEntry.errors ?? [];
    throw new Error(`${name}${first?.instancePath ?? ''} ${first?.message ?? 'is malformed'}`);
  }
  const { command, description = null, env = [], readable = [], image = null } = entry;
  const reserved = env.find((variable) => RESERVED.test(variable));
  if (reserved !== undefined) throw new Error(`${name}: ${reserved} can't be set by companies`);
  const relative = readable.find((path) => !isAbsolute(path));
  if (relative !== undefined) throw new Error(`${name}: ${relative} is not an absolute path`);
  return { command, description, env, readable, image };
}

export const mcpVariables = {
  SERVICE_MCP_ALLOWED_HOSTS: Type.Unsafe<string[]>({
    format: 'host-list',
    default: '',
    description:
      'Hosts on private addresses whose MCP servers companies may register; all others must be public.',
  }),
  SERVICE_MCP_COMMANDS: Type.Unsafe<ReadonlyMap<string, McpCommand>>({
    format: 'mcp-commands',
    default: '',
    description:
      'Programs that companies may register as MCP servers, by name; they run in the sandbox of plugins. The same in both tiers.',
  }),
  SERVICE_MCP_MAX_PROGRAMS: Type.Integer({
    minimum: 1,
    maximum: 1000,
    default: 20,
    description:
      'Of these programs, how many one scheduler runs at once; one company has half of them at most.',
  }),
};
