/**
 * The vendor's tool: `npx node scripts/license.ts keys` generates a key pair, `… issue --holder <name> [--until <date>]` issues
 * a license with the private key (PEM) in LICENSE_PRIVATE_KEY_FILE. Instances only ever get the public key.
 */
import { createPrivateKey, generateKeyPairSync, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { issueLicense } from '@acp/kernel';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { holder: { type: 'string' }, until: { type: 'string' } },
});

function keys(): string {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const bytes = publicKey.export({ type: 'spki', format: 'der' }).subarray(-32);
  return `SERVICE_LICENSE_PUBLIC_KEY=${bytes.toString('base64')}\n${privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()}`;
}

function issue(): string {
  const file = process.env.LICENSE_PRIVATE_KEY_FILE;
  if (file === undefined || values.holder === undefined)
    throw new Error('a private key file and a --holder are needed');
  const expires_at = values.until === undefined ? null : new Date(values.until);
  if (Number.isNaN(expires_at?.getTime())) throw new Error('--until is not a date');
  const license = { id: randomUUID(), holder: values.holder, expires_at };
  return issueLicense(license, createPrivateKey(readFileSync(file)));
}

const verb = positionals[0];
if (verb !== 'keys' && verb !== 'issue')
  throw new Error('usage: node scripts/license.ts keys | issue --holder <name> [--until <date>]');
console.log(verb === 'keys' ? keys() : issue());
