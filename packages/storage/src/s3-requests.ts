/** When requests to a bucket end that would otherwise be repeated or waited for. */
import type { S3Client } from '@aws-sdk/client-s3';

/** The client would try again, and the caller would wait as long once more. Other failures are quick, and repeated. */
export const silenceIsFinal =
  <In, Out>(next: (request: In) => Promise<Out>) =>
  async (request: In): Promise<Out> =>
    next(request).catch((error: unknown) => {
      // Without its cause, in which the client would find the timeout.
      throw error instanceof Error && error.name === 'TimeoutError' ? new Error(error.message) : error;
    });

/** The same client, which also aborts `broken` with the first command that fails. */
export function reporting(client: S3Client, broken: AbortController): S3Client {
  const send = async (command: Parameters<S3Client['send']>[0]) =>
    client.send(command).catch((error: unknown) => {
      broken.abort(error);
      throw error;
    });
  return Object.create(client, { send: { value: send } }) as S3Client;
}

/** Rejects when the signal is aborted, with its reason; never resolves. */
export const rejection = async (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    const fail = () => {
      reject(signal.reason as Error);
    };
    if (signal.aborted) fail();
    else signal.addEventListener('abort', fail, { once: true });
  });
