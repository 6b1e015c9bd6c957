import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

export interface S3Server {
  /** Environment variables that make a process use its bucket. */
  environment: Record<string, string>;
  close(): Promise<void>;
}

/** A real S3 server on loopback with one empty bucket, in a folder that is removed with it. */
export async function startS3Server(bucket = 'files'): Promise<S3Server> {
  const { default: S3rver } = await import('@20minutes/s3rver');
  const directory = await mkdtemp(path.join(tmpdir(), 'acp-s3-'));
  const server = new S3rver({
    port: 0,
    address: '127.0.0.1',
    silent: true,
    directory,
    // Its signature check drops the slash after the bucket name in listings.
    allowMismatchedSignatures: true,
    configureBuckets: [{ name: bucket, configs: [] }],
  });
  const { port } = await server.run();
  return {
    environment: {
      SERVICE_STORAGE: 's3',
      SERVICE_S3_BUCKET: bucket,
      SERVICE_S3_ENDPOINT: `http://127.0.0.1:${port}`,
      SERVICE_S3_ACCESS_KEY_ID: 'S3RVER',
      SERVICE_S3_SECRET_ACCESS_KEY: 'S3RVER',
      SERVICE_S3_FORCE_PATH_STYLE: 'true',
    },
    close: async () => {
      await server.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
