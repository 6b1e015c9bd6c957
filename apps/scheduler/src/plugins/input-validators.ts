import { setImmediate as nextTurn } from 'node:timers/promises';
import { type CheckedManifest, outsideValidator } from '@acp/contract';
import { ProtocolError } from '@acp/plugin-protocol';

/** Keyed by `namespace:name`. Each throws `invalid` for input that violates its schema. */
export type InputValidators = ReadonlyMap<string, (input: unknown) => unknown>;

const LONGEST_COMPILING_MS = 3000;

/** @throws ProtocolError for an unusable schema, or if compiling them takes too long */
export async function inputValidators(
  plugin_id: string,
  tools: CheckedManifest['tools'],
): Promise<InputValidators> {
  const begun = performance.now();
  const made = new Map<string, (input: unknown) => unknown>();
  for (const { namespace, name, input_schema } of tools) {
    if (performance.now() - begun > LONGEST_COMPILING_MS)
      throw new ProtocolError('manifest: the input schemas take too long to compile');
    // A schema may be slow to compile: let other work run in between.
    await nextTurn();
    made.set(`${namespace}:${name}`, compiled(plugin_id, name, input_schema));
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
