/** A bundle that comes as a file, from whomever: its bytes are looked at before anybody parses them. Pure. */
import { CompanyBundle, createValidator } from '@acp/contract';
import { invalid, isNestedDeeper } from '@acp/kernel';

/** Configurations are the deepest that a bundle has. */
const DEEPEST_BUNDLE = 32;
const PLACE = 'bundle';

const validate = createValidator(CompanyBundle, PLACE);

/** @throws invalid that says what the file is not, or names the fault's place */
export function readBundle(bytes: Uint8Array): CompanyBundle {
  const [first, second] = bytes;
  const packed = (first === 0x50 && second === 0x4b) || (first === 0x1f && second === 0x8b);
  if (packed) throw invalid('bundle: it is packed; a bundle is plain JSON');
  return readBundleValue(parse(textOf(bytes)));
}

/** The same for one that is parsed already. */
export function readBundleValue(value: unknown): CompanyBundle {
  checkTexts(value, PLACE, 0);
  return validate(value);
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw invalid('bundle: it is no UTF-8 text');
  }
}

function parse(text: string): unknown {
  if (isNestedDeeper(text, DEEPEST_BUNDLE)) throw invalid('bundle: it is nested too deeply');
  try {
    return JSON.parse(text);
  } catch {
    throw invalid('bundle: it is no JSON');
  }
}

/** What no text column takes, and the one name that is more than a name. @throws invalid */
function checkTexts(value: unknown, place: string, depth: number): void {
  if (typeof value === 'string') {
    if (value.includes('\0') || !value.isWellFormed()) throw invalid(`${place}: invalid character in text`);
  } else if (typeof value === 'object' && value !== null) {
    if (depth >= DEEPEST_BUNDLE) throw invalid(`${PLACE}: it is nested too deeply`);
    for (const [key, inner] of Object.entries(value)) {
      if (key === '__proto__' || key.includes('\0') || !key.isWellFormed())
        throw invalid(`${place}: invalid name of a field`);
      checkTexts(inner, `${place}.${key}`, depth + 1);
    }
  }
}
