/** Inputs for tools, generated from their schemas. */
import { outsideValidator, type CheckedTool } from '@acp/contract';
import { JSONSchemaFaker } from 'json-schema-faker';

/** Deterministic, so that a failure reproduces. */
function seeded(): () => number {
  let state = 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

/** Throws if the schema can't be compiled. */
export function validatorOf({ name, input_schema }: CheckedTool): (input: unknown) => unknown {
  const validate = outsideValidator(input_schema, { owner: name });
  try {
    validate({});
  } catch (error) {
    if (error instanceof Error && error.message.includes('can’t be used'))
      throw new Error(`the input schema of ${name} is not a JSON Schema that can be compiled`, {
        cause: error,
      });
  }
  return validate;
}

/** An input that the schema accepts; undefined if none could be generated. */
export function sampleOf(tool: CheckedTool): unknown {
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
      // Not valid this way; perhaps with fewer of the properties.
    }
  }
  return undefined;
}

/** Inputs that the host would never send because the schema rejects them; a plugin must survive them. */
export function wrongInputs({ input_schema }: CheckedTool): unknown[] {
  const properties = Object.keys(input_schema.properties ?? {});
  return [{}, [], null, 'text', Object.fromEntries(properties.map((name) => [name, { wrong: [true] }]))];
}
