/** Webhook requests of GitHub and GitLab: verifies their origin and extracts the branches they concern. Pure. */
import { constantTimeEqual, hmacSha256Hex, unauthenticated } from '@acp/kernel';

export interface HostRequest {
  /** The raw body: signatures cover its bytes. */
  body: Uint8Array;
  header: (name: string) => string | undefined;
}

/** Accepted difference, in either direction, between a signed timestamp and the server's clock. */
const TOLERANCE_SEC = 300;
/** Prefix of 32 bytes in base64: GitLab's format for signing keys. Other hosts use the whole string. */
export const SECRET_PREFIX = 'whsec_';
const MOST_BRANCHES = 20;
/** None of our branches has a longer name. */
const LONGEST = 250;

/**
 * GitHub signs the body with the secret's characters; GitLab signs `id.timestamp.body` with the bytes that the secret encodes,
 * or sends the secret. If several are present, all of them must be valid: additional ones don't make up for a bad one.
 * @throws unauthenticated
 */
export function verifyHost(secret: string, { body, header }: HostRequest, now_sec: number): void {
  const github = header('x-hub-signature-256');
  const signed = header('webhook-signature');
  const token = header('x-gitlab-token');
  if (github === undefined && signed === undefined && token === undefined)
    throw unauthenticated('missing signature');
  const good =
    (github === undefined || constantTimeEqual(github, `sha256=${hmacSha256Hex(secret, body)}`)) &&
    (token === undefined || constantTimeEqual(token, secret)) &&
    (signed === undefined || isSigned(secret, signed, { body, header }, now_sec));
  if (!good) throw unauthenticated('invalid signature');
}

function isSigned(secret: string, signed: string, { body, header }: HostRequest, now_sec: number): boolean {
  const id = header('webhook-id') ?? '';
  const timestamp = header('webhook-timestamp') ?? '';
  if (!/^\d{1,15}$/.test(timestamp) || Math.abs(now_sec - Number(timestamp)) > TOLERANCE_SEC) return false;
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
  const hash = hmacSha256Hex(key, Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]));
  const wanted = `v1,${Buffer.from(hash, 'hex').toString('base64')}`;
  // During a key rotation there are two signatures.
  return signed
    .split(' ')
    .slice(0, 5)
    .some((each) => constantTimeEqual(each, wanted));
}

/** The host's name of the event; empty if absent. */
export function nameOfEvent({ header }: Pick<HostRequest, 'header'>): string {
  const name = header('x-github-event') ?? header('x-gitlab-event') ?? '';
  return name.replaceAll(/[^\w .:-]/g, '').slice(0, 100);
}

/**
 * The branches of the pull requests that the event may concern: a review, a comment, a check, a pipeline, a merge. Empty for
 * other events and malformed JSON.
 */
export function branchesOf(body: Uint8Array): string[] {
  let payload: unknown;
  try {
    payload = JSON.parse(Buffer.from(body).toString('utf8'));
  } catch {
    return [];
  }
  const at = (...path: string[]): unknown =>
    path.reduce<unknown>(
      (value, name) =>
        typeof value === 'object' && value !== null && Object.hasOwn(value, name)
          ? Reflect.get(value, name)
          : undefined,
      payload,
    );
  const branches = at('branches');
  const found = [
    at('pull_request', 'head', 'ref'),
    at('check_suite', 'head_branch'),
    at('check_run', 'check_suite', 'head_branch'),
    ...(Array.isArray(branches) ? branches.map((each: { name?: unknown } | null) => each?.name) : []),
    at('object_attributes', 'source_branch'),
    at('merge_request', 'source_branch'),
    at('object_attributes', 'ref'),
  ];
  const names = found.filter(
    (name): name is string => typeof name === 'string' && name !== '' && name.length <= LONGEST,
  );
  return [...new Set(names)].slice(0, MOST_BRANCHES);
}
