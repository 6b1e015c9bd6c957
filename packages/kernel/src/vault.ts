/**
 * Secrets at rest (Authentication 11; decisions 1, SERVICE_ENCRYPTION_KEY). Each value has its own data key, which is wrapped
 * by the instance's key: a rotation rewraps data keys and never touches values. Both use AES-256-GCM; the location of a value
 * (`secrets/<id>`) is authenticated along with it, so a ciphertext moved elsewhere does not decrypt.
 */
import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto';
import { constantTimeEqual, hmacSha256Hex } from './crypto.ts';
import { unavailable } from './errors.ts';
import { said } from './said.ts';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const FORMAT = 'v1';

/** Identifies a key without revealing it: the first 16 hex digits of its SHA-256. */
export function keyFingerprint(key: Buffer): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 16);
}

export class Vault {
  readonly #current: Buffer | null;
  readonly #keys = new Map<string, Buffer>();

  /** @param previous keys that can still decrypt what they encrypted, for rotation. */
  constructor(current: Buffer | null, previous: readonly Buffer[] = []) {
    this.#current = current;
    for (const key of [...previous, ...(current ? [current] : [])]) this.#keys.set(keyFingerprint(key), key);
  }

  get available(): boolean {
    return this.#current !== null;
  }

  /** Of the key currently used for sealing; null without one. */
  get fingerprint(): string | null {
    return this.#current && keyFingerprint(this.#current);
  }

  /** Whether values sealed by the key with this fingerprint can be read. */
  opens(fingerprint: string): boolean {
    return this.#keys.has(fingerprint);
  }

  /** Whether the key that sealed this text is configured. */
  canUnseal(sealed: string): boolean {
    return this.opens(sealed.split('.')[1] ?? '');
  }

  /** @throws unavailable (503) without a key: there is no plaintext fallback. */
  seal(value: string, place: string): string {
    const key = this.#sealingKey();
    const dataKey = randomBytes(KEY_BYTES);
    const wrapped = encrypt(key, dataKey, place);
    const content = encrypt(dataKey, Buffer.from(value, 'utf8'), place);
    return [FORMAT, keyFingerprint(key), wrapped.toString('base64url'), content.toString('base64url')].join(
      '.',
    );
  }

  /** @throws unavailable if the key that sealed it is not configured, Error if the ciphertext was tampered with. */
  unseal(sealed: string, place: string): string {
    const { wrapped, content, key } = this.#open(sealed);
    return decrypt(decrypt(key, wrapped, place), content, place).toString('utf8');
  }

  /** Reseals the value under the current key; returns the input if it already is. */
  rewrap(sealed: string, place: string): string {
    const current = this.#sealingKey();
    const { wrapped, content, key } = this.#open(sealed);
    if (key.equals(current)) return sealed;
    const again = encrypt(current, decrypt(key, wrapped, place), place);
    return [FORMAT, keyFingerprint(current), again.toString('base64url'), content.toString('base64url')].join(
      '.',
    );
  }

  /**
   * Hex HMAC-SHA256 of the text, by a key that is derived from the instance's for this purpose alone.
   * @throws unavailable (503) without a key
   */
  sign(text: string, purpose: string): string {
    return signature(this.#sealingKey(), text, purpose);
  }

  /** Whether the instance's key or a former one that is still configured signed the text for this purpose. */
  isSigned(text: string, signed: string, purpose: string): boolean {
    return [...this.#keys.values()].some((key) => constantTimeEqual(signed, signature(key, text, purpose)));
  }

  #sealingKey(): Buffer {
    if (!this.#current)
      throw unavailable(
        'secrets cannot be stored: SERVICE_ENCRYPTION_KEY is not set; have the operator make a key (`ctl secrets make-key`) and start again',
      );
    return this.#current;
  }

  #open(sealed: string): { wrapped: Buffer; content: Buffer; key: Buffer } {
    const [format, fingerprint = '', wrapped, content] = sealed.split('.');
    if (format !== FORMAT || wrapped === undefined || content === undefined)
      throw new Error('not a sealed value');
    const key = this.#keys.get(fingerprint);
    if (!key) throw unavailable(said`the encryption key ${fingerprint} is not configured`);
    return { wrapped: Buffer.from(wrapped, 'base64url'), content: Buffer.from(content, 'base64url'), key };
  }
}

function signature(key: Buffer, text: string, purpose: string): string {
  const derived = createHmac('sha256', key).update(purpose).digest();
  return hmacSha256Hex(derived, text);
}

/** Layout: iv, ciphertext, tag. */
function encrypt(key: Buffer, plain: Buffer, place: string): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, key, iv).setAAD(Buffer.from(place));
  return Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

function decrypt(key: Buffer, sealed: Buffer, place: string): Buffer {
  const tagAt = sealed.length - TAG_BYTES;
  if (tagAt < IV_BYTES) throw new Error('not a sealed value');
  const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(place)).setAuthTag(sealed.subarray(tagAt));
  return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES, tagAt)), decipher.final()]);
}
