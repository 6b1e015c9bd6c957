/** Passkeys by WebAuthn: the options for a browser, and verification of its response. No database here. */
import type { PasskeyResponse } from '@acp/contract';
import type { NewPasskey, StoredPasskey } from '@acp/core';
import { conflict, forbidden, type Vault } from '@acp/kernel';
import type {
  AuthenticationResponseJSON,
  AuthenticatorTransportFuture,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import { isIP } from 'node:net';
import type { Static } from 'typebox';

/** Loaded on first use of a passkey: it takes 5 MB. */
const library = async () => import('@simplewebauthn/server');
const NAME = 'Control plane';
type Answer = Static<typeof PasskeyResponse>;

/** Passkeys belong to a host name, and browsers create them over https (and on localhost) only. */
export function passkeysPossible(public_url: string): boolean {
  const { protocol, hostname } = new URL(public_url);
  if (isIP(hostname.replaceAll(/[[\]]/g, '')) !== 0) return false;
  return protocol === 'https:' || hostname === 'localhost' || hostname.endsWith('.localhost');
}

/**
 * A rule that everyone must have a second factor would let nobody in where none can be set up, and whoever can make it for one company
 * would also lock out those who look after all of them. @param required what is to be set; null and undefined: no rule
 * @throws conflict
 */
export function assertFactorPossible(
  required: boolean | null | undefined,
  { vault, public_url }: { vault: Vault; public_url: string },
): void {
  if (required && !vault.available && !passkeysPossible(public_url))
    throw conflict(
      'no second factor can be set up here: that takes SERVICE_ENCRYPTION_KEY, or SERVICE_PUBLIC_URL with https and a host name',
    );
}

function place(public_url: string): { rpID: string; origin: string } {
  if (!passkeysPossible(public_url))
    throw conflict('passkeys need SERVICE_PUBLIC_URL with https and a host name');
  const { hostname, origin } = new URL(public_url);
  return { rpID: hostname, origin };
}

const listed = (passkeys: readonly StoredPasskey[]) =>
  passkeys.map(({ credential_id, transports }) => ({
    id: credential_id,
    transports: transports as AuthenticatorTransportFuture[],
  }));

/** @param existing the user's own passkeys, which authenticators must not duplicate */
export async function creationOptions(
  public_url: string,
  user: { id: string; email: string; display_name: string },
  existing: readonly StoredPasskey[],
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { generateRegistrationOptions } = await library();
  return generateRegistrationOptions({
    rpName: NAME,
    rpID: place(public_url).rpID,
    userID: new Uint8Array(Buffer.from(user.id)),
    userName: user.email,
    userDisplayName: user.display_name,
    attestationType: 'none',
    excludeCredentials: listed(existing),
    // Discoverable, so that it can also replace address and password.
    authenticatorSelection: { residentKey: 'preferred', userVerification: 'preferred' },
  });
}

/** @throws forbidden for an invalid response */
export async function verifyCreation(
  public_url: string,
  { name, response }: { name: string; response: Answer },
  challenge: string,
): Promise<NewPasskey> {
  const { rpID, origin } = place(public_url);
  const { verifyRegistrationResponse } = await library();
  const { registrationInfo } = await checked(() =>
    verifyRegistrationResponse({
      response: { clientExtensionResults: {}, ...response } as unknown as RegistrationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: rpID,
      requireUserVerification: false,
    }),
  );
  if (!registrationInfo) throw refused();
  const { credential, credentialBackedUp: backed_up } = registrationInfo;
  return {
    name,
    credential_id: credential.id,
    public_key: Buffer.from(credential.publicKey).toString('base64url'),
    counter: credential.counter,
    transports: credential.transports ?? [],
    backed_up,
  };
}

/** @param passkeys those of the user at the second step; none: any that the authenticator has, with PIN or biometrics */
export async function requestOptions(
  public_url: string,
  passkeys: readonly StoredPasskey[],
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const { generateAuthenticationOptions } = await library();
  return generateAuthenticationOptions({
    rpID: place(public_url).rpID,
    allowCredentials: listed(passkeys),
    userVerification: passkeys.length > 0 ? 'preferred' : 'required',
  });
}

/**
 * @param options.alone whether it also replaces the first factor: then the authenticator must have verified the user
 * @returns the credential's new counter. @throws forbidden for an invalid response
 */
export async function verifyRequest(
  public_url: string,
  response: Answer,
  { challenge, passkey, alone }: { challenge: string; passkey: StoredPasskey; alone: boolean },
): Promise<number> {
  const { rpID, origin } = place(public_url);
  const { verifyAuthenticationResponse } = await library();
  const { verified, authenticationInfo } = await checked(() =>
    verifyAuthenticationResponse({
      response: { clientExtensionResults: {}, ...response } as unknown as AuthenticationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: rpID,
      requireUserVerification: alone,
      credential: {
        id: passkey.credential_id,
        publicKey: new Uint8Array(Buffer.from(passkey.public_key, 'base64url')),
        counter: passkey.counter,
      },
    }),
  );
  if (!verified) throw refused();
  return authenticationInfo.newCounter;
}

const refused = () => forbidden('the passkey could not be verified');

/** The library throws plain errors for anything invalid; their messages are only logged. */
async function checked<T>(verify: () => Promise<T>): Promise<T> {
  try {
    return await verify();
  } catch (cause) {
    const error = refused();
    error.cause = cause;
    throw error;
  }
}
