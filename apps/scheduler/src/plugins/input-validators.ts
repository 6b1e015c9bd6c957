import { setImmediate as nextTurn } from 'node:timers/promises';
import { type CheckedManifest, outsideValidator } from '@acp/contract';
import { ProtocolError } from '@acp/plugin-protocol';

/** Keyed by `namespace:name`. Each throws `invalid` for input that violates its schema. */
export type InputValidators = ReadonlyMap<string, (input: unknown) => unknown>;

/** Of processor time: on a busy machine the plugin isn't to blame. */
const LONGEST_COMPILING_MS = 3000;

/** @throws ProtocolError for an unusable schema, or if compiling them takes too long */
export async function inputValidators(
  plugin_id: string,
  tools: CheckedManifest['tools'],
): Promise<InputValidators> {
  let spent_ms = 0;
  const made = new Map<string, (input: unknown) => unknown>();
  for (const { namespace, name, input_schema } of tools) {
    if (spent_ms > LONGEST_COMPILING_MS)
      throw new ProtocolError('manifest: the input schemas take too long to compile');
    // A schema may be slow to compile: let other work run in between.
    await nextTurn();
    const before = process.threadCpuUsage();
    made.set(`${namespace}:${name}`, compiled(plugin_id, name, input_schema));
    const { user, system } = process.threadCpuUsage(before);
    spent_ms += (user + system) / 1000;
  }
  return made;
}

function compiled(
  owner: string,
  tool: string,
  input_schema: Record<string, unknown>,
): (input: unknown) => unknown {
  try {
    return outsideValidator(input_schema, { owner, at_once: true });
  } catch (cause) {
    throw new ProtocolError(`manifest: the input schema of tool ${tool} can’t be used`, { cause });
  }
}
