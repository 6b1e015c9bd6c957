/** Inputs for tools, made from their schemas. */
import { outsideValidator, type PluginManifestTool } from '@acp/contract';
import { JSONSchemaFaker } from 'json-schema-faker';

/** Always the same figures: what failed fails again. */
function seeded(): () => number {
  let state = 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

/** Throws where the schema can't be compiled. */
export function validatorOf({ name, input_schema }: PluginManifestTool): (input: unknown) => unknown {
  const validate = outsideValidator(input_schema, { owner: name });
  try {
    validate({});
  } catch (error) {
    if (error instanceof Error && error.message.includes('can’t be used'))
      throw new Error(`the input schema of ${name} is no JSON Schema that can be compiled`, { cause: error });
  }
  return validate;
}

/** An input that the schema accepts; undefined where none could be made. */
export function sampleOf(tool: PluginManifestTool): unknown {
  const validate = validatorOf(tool);
  const options = {
    alwaysFakeOptionals: true,
    useDefaultValue: true,
    useExamplesValue: true,
    random: seeded(),
  };
  for (const all of [true, false]) {
    try {
      JSONSchemaFaker.option({ ...options, alwaysFakeOptionals: all });
      return validate(JSONSchemaFaker.generate(structuredClone(tool.input_schema)));
    } catch {
      // Not this way; with fewer of the properties perhaps.
    }
  }
  return undefined;
}

/** Inputs that the host would never send, because the schema refuses them; a plugin has to outlive them. */
export function wrongInputs({ input_schema }: PluginManifestTool): unknown[] {
  const properties = Object.keys(input_schema.properties ?? {});
  return [{}, [], null, 'text', Object.fromEntries(properties.map((name) => [name, { wrong: [true] }]))];
}
