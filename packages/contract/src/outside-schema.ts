/**
 * Input schemas written by third parties. Compiling and applying them executes their content: exploding combinations,
 * patterns that backtrack for hours. Each step has a time limit, and so does the total for all schemas of one owner.
 */
import { invalid, ServiceError, withinTime } from '@acp/kernel';
import { Ajv, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { inTimeOf } from './schema-time.ts';
import { describeError } from './describe-error.ts';

/** In characters of JSON. */
export const LONGEST_SCHEMA = 32_768;
/** A tool's input may be as long as the request or the plugin message that carries it. */
const LONGEST_INPUT = 1_048_576;
const TIME_LIMIT_MS = 200;

/** Keywords whose cost is not linear in schema and input: patterns, pairwise comparisons, cycles. */
const MAY_EXPLODE = /"(?:pattern|patternProperties|uniqueItems|\$ref|\$dynamicRef|\$recursiveRef)":/;
/** Limit for the product of the lengths, which keeps the check within a few milliseconds. */
const LARGEST_PRODUCT = 5_000_000;

/**
 * Compiled on first use, or immediately if its author should see the error, and kept for as long as its owner. Throws
 * `invalid`, and `rateLimited` once the owner's schemas have used too much time.
 */
export function outsideValidator(
  schema: Record<string, unknown>,
  { owner, at_once = false }: { owner: string; at_once?: boolean },
): (input: unknown) => unknown {
  let compiled: ValidateFunction | undefined;
  const text = JSON.stringify(schema);
  const mayExplode = MAY_EXPLODE.test(text);
  const limited = <T>(work: () => T): T => inTimeOf(owner, () => withinTime(TIME_LIMIT_MS, work));
  if (at_once)
    try {
      compiled = limited(() => compile(schema));
    } catch {
      throw invalid('the input schema can’t be used');
    }
  return (input) => {
    const length = (JSON.stringify(input) ?? '').length;
    if (length > LONGEST_INPUT) throw invalid('input is too long');
    let isValid: boolean;
    try {
      const validate = (compiled ??= limited(() => compile(schema)));
      const check = () => validate(input);
      // A time limit costs more than validating most inputs.
      isValid = mayExplode || text.length * length > LARGEST_PRODUCT ? limited(check) : check();
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      throw invalid('the input schema of the tool can’t be used: its provider has to mend it');
    }
    if (!isValid) throw invalid(describeError('input', compiled?.errors));
    return input;
  };
}

/**
 * With a separate instance per schema: others' `$id`s are invisible to it, and everything is freed with the tool. `$async` is ajv's own:
 * the check would return a promise, which counts as valid and, if rejected, ends the process.
 */
function compile({
  $schema: dialect,
  $id: _id,
  $async: _async,
  ...schema
}: Record<string, unknown>): ValidateFunction {
  // Draft 2020-12 unless it declares an older one.
  const isOld = typeof dialect === 'string' && /draft-0[4-7]/.test(dialect);
  const Dialect = isOld ? Ajv : Ajv2020;
  return new Dialect({
    strict: false,
    allErrors: false,
    meta: false,
    validateSchema: false,
    validateFormats: false,
    logger: false,
  }).compile(schema);
}
