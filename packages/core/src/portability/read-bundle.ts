/** Parses an untrusted bundle file: its bytes are checked before they are parsed. Pure. */
import { CompanyBundle, createValidator } from '@acp/contract';
import { invalid, isNestedDeeper, said } from '@acp/kernel';

/** Maximum depth of a bundle; configurations are its deepest part. */
const DEEPEST_BUNDLE = 32;
const PLACE = 'bundle';

const validate = createValidator(CompanyBundle, PLACE);

/** @throws invalid stating what is wrong with the file, or naming the place of the error */
export function readBundle(bytes: Uint8Array): CompanyBundle {
  const [first, second] = bytes;
  const packed = (first === 0x50 && second === 0x4b) || (first === 0x1f && second === 0x8b);
  if (packed) throw invalid('bundle: it is compressed; a bundle is plain JSON');
  return readBundleValue(parse(textOf(bytes)));
}

/** The same for a parsed bundle. */
export function readBundleValue(value: unknown): CompanyBundle {
  checkTexts(value, PLACE, 0);
  return validate(value);
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw invalid('bundle: it is not UTF-8 text');
  }
}

function parse(text: string): unknown {
  if (isNestedDeeper(text, DEEPEST_BUNDLE)) throw invalid('bundle: it is nested too deeply');
  try {
    return JSON.parse(text);
  } catch {
    throw invalid('bundle: it is not JSON');
  }
}

/** Rejects text that no text column accepts, and the field name `__proto__`. @throws invalid */
function checkTexts(value: unknown, place: string, depth: number): void {
  if (typeof value === 'string') {
    if (value.includes('\0') || !value.isWellFormed())
      throw invalid(said`${place}: invalid character in text`);
  } else if (typeof value === 'object' && value !== null) {
    if (depth >= DEEPEST_BUNDLE) throw invalid(said`${PLACE}: it is nested too deeply`);
    for (const [key, inner] of Object.entries(value)) {
      if (key === '__proto__' || key.includes('\0') || !key.isWellFormed())
        throw invalid(said`${place}: invalid name of a field`);
      checkTexts(inner, `${place}.${key}`, depth + 1);
    }
  }
}
