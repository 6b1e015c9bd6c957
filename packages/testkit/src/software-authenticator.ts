// Stands in for a phone: an authenticator app (RFC 6238) and a WebAuthn authenticator, written from the standards rather
// than with the libraries the service verifies them with.

import {
  createECDH,
  createHash,
  createHmac,
  createPrivateKey,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';

/** The code for a base-32 secret at an instant; the default is now. */
export function totpCode(secret: string, at_ms = Date.now()): string {
  const bits = secret
    .split('')
    .map((letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'));
  const bytes = bits
    .join('')
    .match(/.{8}/g)!
    .map((octet) => Number.parseInt(octet, 2));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(at_ms / 30_000)));
  const mac = createHmac('sha1', Buffer.from(bytes)).update(counter).digest();
  const code = mac.readUInt32BE(mac.at(-1)! & 15) & 0x7f_ff_ff_ff;
  return String(code % 1_000_000).padStart(6, '0');
}

interface Options {
  challenge: string;
  rp?: { id?: string };
  rpId?: string;
  user?: { id: string };
}

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest();

export class SoftwareAuthenticator {
  /** The page's origin as a browser would report it. */
  origin: string;
  /** Whether it verifies its user, by PIN or fingerprint. */
  verifies_user = true;
  counter = 0;
  readonly id = randomBytes(32);
  readonly #key: KeyObject;
  readonly #point: Buffer;
  #user_handle: string | undefined;

  constructor(origin: string) {
    this.origin = origin;
    const pair = createECDH('prime256v1');
    this.#point = pair.generateKeys();
    const [d, x, y] = [pair.getPrivateKey(), this.#point.subarray(1, 33), this.#point.subarray(33)].map(
      (part) => part.toString('base64url'),
    );
    this.#key = createPrivateKey({ key: { kty: 'EC', crv: 'P-256', d: d!, x: x!, y: y! }, format: 'jwk' });
  }

  /** The response to creation options, as a browser's `toJSON()` serializes it. */
  create({ challenge, rp, user }: Options) {
    this.#user_handle = user?.id;
    const attested = Buffer.concat([Buffer.alloc(16), uint16(this.id.length), this.id, this.#coseKey()]);
    const data = this.#authenticatorData(rp!.id!, 0x40, attested);
    const attestation = Buffer.concat([
      Buffer.from([0xa3]),
      text('fmt'),
      text('none'),
      text('attStmt'),
      Buffer.from([0xa0]),
      text('authData'),
      bytes(data),
    ]);
    return this.#answer({
      clientDataJSON: this.#clientData('webauthn.create', challenge).toString('base64url'),
      attestationObject: attestation.toString('base64url'),
      transports: ['internal'],
    });
  }

  /** The response to request options. */
  get({ challenge, rpId }: Options) {
    this.counter += 1;
    const client = this.#clientData('webauthn.get', challenge);
    const data = this.#authenticatorData(rpId!, 0, Buffer.alloc(0));
    const signature = sign('sha256', Buffer.concat([data, sha256(client)]), this.#key);
    return this.#answer({
      clientDataJSON: client.toString('base64url'),
      authenticatorData: data.toString('base64url'),
      signature: signature.toString('base64url'),
      userHandle: this.#user_handle,
    });
  }

  #answer(response: object) {
    const id = this.id.toString('base64url');
    return { id, rawId: id, type: 'public-key', response, clientExtensionResults: {} };
  }

  #clientData(type: string, challenge: string): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin: this.origin, crossOrigin: false }));
  }

  #authenticatorData(rp_id: string, flags: number, rest: Buffer): Buffer {
    const present = 0x01 | (this.verifies_user ? 0x04 : 0) | flags;
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(this.counter);
    return Buffer.concat([sha256(rp_id), Buffer.from([present]), counter, rest]);
  }

  /** {1: 2 (EC2), 3: -7 (ES256), -1: 1 (P-256), -2: x, -3: y} in CBOR. */
  #coseKey(): Buffer {
    const [x, y] = [this.#point.subarray(1, 33), this.#point.subarray(33)];
    const head = Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21]);
    return Buffer.concat([head, bytes(x), Buffer.from([0x22]), bytes(y)]);
  }
}

function uint16(value: number): Buffer {
  const buffer = Buffer.alloc(2);
  buffer.writeUInt16BE(value);
  return buffer;
}

const text = (value: string) => Buffer.concat([Buffer.from([0x60 + value.length]), Buffer.from(value)]);
/** Encodes 24 bytes or more with the shortest possible length, as CBOR in WebAuthn requires. */
const bytes = (value: Buffer) =>
  Buffer.concat([
    value.length < 256
      ? Buffer.from([0x58, value.length])
      : Buffer.concat([Buffer.from([0x59]), uint16(value.length)]),
    value,
  ]);
